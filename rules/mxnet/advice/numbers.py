"""What to do about findings on numbers and evaluation."""

from __future__ import annotations

ADVICE = {
    "MX415": """\
Why:
    What a forward hook or pass keeps, counts or prints is made of one process's share of every
    batch.

How to fix:
    Take what is kept from what the model returns, or add it up over the processes in the hook.

Before:
    net.register_forward_hook(lambda block, given, out: kept.append(out.mean()))

After:
    kept.append(net(data).mean())

When to ignore:
    Nothing is made of what the hook keeps.
""",
    "MX602": """\
Why:
    The number was read off one worker's part of the data.

How to fix:
    Report a metric, which counts the samples of all workers.

Before:
    print(total / count)

After:
    print(metric.get())

When to ignore:
    Where a number of about the right size is enough.
""",
    "MX604": """\
Why:
    fit() logs the metric of its own worker.

How to fix:
    Take it for what one worker has seen, or score behind the training.

Before:
    module.fit(data, eval_metric=custom)

After:
    module.fit(data, eval_metric="acc")

When to ignore:
    Where it is only looked at.
""",
    "MX607": """\
Why:
    The script gives this data to workers in parts.

How to fix:
    Leave num_parts and part_index out of what is evaluated.

Before:
    mx.io.ImageRecordIter(path_imgrec="val.rec", num_parts=n, part_index=i)

After:
    mx.io.ImageRecordIter(path_imgrec="val.rec")

When to ignore:
    Where the parts are put together elsewhere.
""",
    "MX611": """\
Why:
    Each worker evaluates everything: right, and as long as before.

How to fix:
    Convert with --eval shard.

Before:
    disttranspile train.py

After:
    disttranspile train.py --eval shard

When to ignore:
    Always where evaluation is short.
""",
    "MX613": """\
Why:
    Each worker sees its part of a batch, and would set its optimizer to something else.

How to fix:
    Make it of a sum or a mean of the batch, or of the number of steps.

Before:
    trainer.set_learning_rate(0.1 / data.shape[0])

After:
    trainer.set_learning_rate(0.1 / batch_size)

When to ignore:
    Where the parts are known to give the same number.
""",
    "MX614": """\
Why:
    Each worker sees its part of a batch, and the answer may differ from worker to worker.

How to fix:
    Ask a sum or a mean of the batch, read by asscalar().

Before:
    if loss.max().asscalar() > 5:
        bad += 1

After:
    if loss.mean().asscalar() > 5:
        bad += 1

When to ignore:
    Nothing that is reported or trained depends on the answer.
""",
    "MX615": """\
Why:
    Each worker sees its part of a batch, and would set its parameters to something else.

How to fix:
    Make it of a sum or a mean of the batch, read by asscalar().

Before:
    weight.set_data(weight.data() * (1 - loss.max().asscalar()))

After:
    weight.set_data(weight.data() * (1 - loss.mean().asscalar()))

When to ignore:
    Where the parts are known to give the same number.
""",
}
