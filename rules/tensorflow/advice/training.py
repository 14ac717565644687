"""What to do about findings on training."""

from __future__ import annotations

ADVICE = {
    "TF102": """\
Why:
    Keras evaluates nothing here, and loops of the script are computed by every worker as a whole,
    so that the option has no meaning.

How to fix:
    Leave the option out, or evaluate with `evaluate()`.

Before:
    disttranspile train.py --eval shard

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "TF103": """\
Why:
    Each worker computes some rows of a batch, and what layers of the script do with the other rows
    is not looked at: the first batch is computed whole and in parts, and the two are compared.

How to fix:
    Nothing, where the samples of a batch do not matter to each other within the model.

Before:
    return inputs - tf.reduce_mean(inputs, axis=0)

After:
    return inputs - tf.reduce_mean(inputs, axis=-1, keepdims=True)

When to ignore:
    Always, once a job has trained a batch.
""",
    "TF222": """\
Why:
    The rows of calls are shared where Keras makes them, in evaluate() and in the validation of
    fit(). Every worker computes other evaluations as a whole: their numbers are right.

How to fix:
    Evaluate with `evaluate()`.

Before:
    for x, y in test_data:
        total += loss_fn(y, model(x))

After:
    total = model.evaluate(test_data)

When to ignore:
    Where these evaluations are short.
""",
    "TF202": """\
Why:
    What fit() calls is not seen, because the model overrides it or is of unknown origin.

How to fix:
    Call fit() of the model, and put what else is to happen into a callback.

Before:
    helpers.fit(model, data)

After:
    model.fit(data, callbacks=[Report()])

When to ignore:
    Never: nothing is written.
""",
    "TF212": """\
Why:
    --batch-size per-device makes batches larger, and it is not seen where this script says how
    large they are.

How to fix:
    Give the size a name that is assigned once, or choose --batch-size global.

Before:
    model.fit(make_batches(images, labels))

After:
    BATCH_SIZE = 64
    model.fit(make_batches(images, labels).batch(BATCH_SIZE))

When to ignore:
    Never: nothing is written.
""",
    "TF213": """\
Why:
    A step takes N times as many samples now, and this counts steps.

How to fix:
    Compute the count from the size of a batch.

Before:
    model.fit(dataset, steps_per_epoch=100)

After:
    model.fit(dataset, steps_per_epoch=count // BATCH_SIZE)

When to ignore:
    Where the number of steps matters and not that of samples.
""",
    "TF232": """\
Why:
    Adaptive optimizers already divide by the size of gradients.

How to fix:
    Choose --scale-lr sqrt, or none.

Before:
    disttranspile train.py --batch-size per-device --scale-lr linear

After:
    disttranspile train.py --batch-size per-device --scale-lr sqrt

When to ignore:
    Where the training was seen to converge.
""",
    "TF234": """\
Why:
    The rate is not a number that stands in the call that makes the optimizer or its schedule.

How to fix:
    Write it there, or multiply it by hand.

Before:
    model.compile("sgd", "mse")

After:
    model.compile(keras.optimizers.SGD(0.01), "mse")

When to ignore:
    Where the learning rate is to stay.
""",
    "TF302": """\
Why:
    Calls under the tape are split by rows, and no call of a model is seen there.

How to fix:
    Build the model as a keras.Model, and call it under the tape.

Before:
    with tf.GradientTape() as tape:
        out = tf.matmul(x, weight)

After:
    with tf.GradientTape() as tape:
        out = model(x)

When to ignore:
    Never: nothing is written.
""",
    "TF312": """\
Why:
    XLA compiles no communication between workers, and whether it compiles this is not written
    where the function is made.

How to fix:
    Leave jit_compile out, or write True there.

Before:
    step = tf.function(step, jit_compile=FAST)

After:
    step = tf.function(step)

When to ignore:
    Never: the step would not run with several workers.
""",
    "TF401": """\
Why:
    A call that keeps something of its samples would keep that of a share on each worker.

How to fix:
    Keep it in the training step, from what the model returns.

Before:
    def call(self, x):
        self.seen.assign_add(tf.shape(x)[0])

After:
    seen.assign_add(tf.shape(x)[0])

When to ignore:
    Never: workers would keep other values.
""",
    "TF404": """\
Why:
    Each worker has its own gradient of rows that all samples share. What is clipped are these
    parts, not their sum, by their norm and by value alike.

How to fix:
    Add a weight in place of the embedding: its gradients are added up before they are clipped.

Before:
    return inputs + self.places(tf.range(16))

After:
    return inputs + self.place_weights

When to ignore:
    Never: nothing is written.
""",
    "TF402": """\
Why:
    Each worker computes a share of the rows, and this looks at the others.

How to fix:
    Look at other samples in the loss, which has the whole batch.

Before:
    def call(self, x):
        return x - tf.reduce_mean(x, 0)

After:
    loss = criterion(out - tf.reduce_mean(out, 0), y)

When to ignore:
    Never: outputs would be others.
""",
    "TF411": """\
Why:
    Workers draw whole batches and take rows of them, which must be those of the same batch.

How to fix:
    Seed what draws them.

Before:
    data = data.shuffle(1000)

After:
    tf.random.set_seed(0)
    data = data.shuffle(1000)

When to ignore:
    Never: rows would not belong together.
""",
    "TF412": """\
Why:
    A decision of one worker must come to the others, which takes a place where all of them are.

How to fix:
    Decide by what all workers have, such as the number of the epoch.

Before:
    if random.random() < 0.5:
        model.fit(data)

After:
    model.fit(data)

When to ignore:
    Never: workers would go different ways.
""",
    "TF602": """\
Why:
    Workers that write to one folder overwrite each other, and where this writes is not told.

How to fix:
    Give the callback its folder by name.

Before:
    callbacks.TensorBoard(*settings)

After:
    callbacks.TensorBoard(log_dir="logs")

When to ignore:
    Never: files would be overwritten.
""",
    "TF603": """\
Why:
    A report from each worker shows one job as several.

How to fix:
    Add the callback on one worker alone.

Before:
    callbacks = [RemoteMonitor()]

After:
    callbacks = [RemoteMonitor()] if index == 0 else []

When to ignore:
    Where a report of each worker is wanted.
""",
    "TF901": """\
Why:
    Sessions, estimators and variables that are updated by hand are ways of training that are
    not converted.

How to fix:
    Train by fit() or with a tape over a keras.Model.

Before:
    estimator.train(input_fn)

After:
    model.fit(data)

When to ignore:
    Never: nothing is written.
""",
}
