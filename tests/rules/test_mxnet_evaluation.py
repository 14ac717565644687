"""Which evaluations of MXNet's scripts are sharded, and why others are not."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import FIT, GLUON, HEAD, STEP, SYMBOL, codes

from transpile import Options, Outcome

SHARD = Options(evaluation="shard")
DATA = "test = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 8)\n"
SHUFFLED = DATA.replace(", 8)", ", 8, shuffle=True)")
METRIC = "metric = mx.metric.Accuracy()\n"
COUNT = "total = 0\nfor data, label in test:\n    total += label.size\n"
UPDATE = "for data, label in test:\n    metric.update([label], [net(data)])\n"

SHARED = {
    "a metric": (
        METRIC + UPDATE + "print(metric.get())\n",
        ("in EvaluationShare(test):", "reduce_metric(metric).get()"),
    ),
    "numbers": (COUNT, ("in EvaluationShare(test):", "(total,) = add_counts(total)")),
    "batches that are counted by enumerate": (
        COUNT.replace("for data, label in test", "for i, (data, label) in enumerate(test)"),
        ("in enumerate(EvaluationShare(test)):",),
    ),
    "a list of the loop itself": (
        METRIC
        + "for data, label in test:\n    outs = []\n    outs.append(net(data))\n"
        + "    metric.update([label], outs)\n",
        ("in EvaluationShare(test):",),
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_adds_up_is_shared_out(name: str) -> None:
    script, pieces = SHARED[name]
    result = convert(GLUON + STEP + DATA + script, SHARD)
    assert result.outcome is Outcome.CONVERTED
    assert all(piece in result.text for piece in pieces), result.text
    assert "MX611" not in codes(result)
    again = convert(result.text, Options(evaluation="shard", respect_distributed=False))
    assert again.text == result.text
    assert "EvaluationShare" not in convert(GLUON + STEP + DATA + script).text


WHOLE = {
    "an early end": COUNT + "    if total > 9:\n        break\n",
    "output in the loop": COUNT + "    print(total)\n",
    "a number that began elsewhere": COUNT.replace("total = 0", "total = 1"),
    "what is no number": "outs = []\nfor data, label in test:\n    outs.append(net(data))\n",
    "a last batch that is used later": COUNT + "print(data.shape)\n",
    "a position that is used later": COUNT.replace(
        "for data, label in test", "for i, (data, label) in enumerate(test)"
    )
    + "print(total / (i + 1))\n",
    "a metric that is no sum": METRIC.replace("Accuracy", "F1") + UPDATE,
    "a metric that is read in the loop": METRIC + UPDATE + "    value = metric.get()\n",
    "a metric that all update elsewhere": METRIC + "metric.update([y], [y])\n" + UPDATE,
    "a model that runs as in training": METRIC
    + "for data, label in test:\n    with autograd.train_mode():\n        out = net(data)\n"
    + "    metric.update([label], [out])\n",
    "an object that is changed": COUNT + "    x[0] = 1\n",
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_does_not_add_up_is_evaluated_by_every_worker(name: str) -> None:
    result = convert(GLUON + STEP + DATA + WHOLE[name], SHARD)
    assert result.outcome is Outcome.CONVERTED
    assert "EvaluationShare" not in result.text
    assert "MX611" in codes(result)


def test_batches_in_another_order_are_not_shared() -> None:
    assert "EvaluationShare" not in convert(GLUON + STEP + SHUFFLED + COUNT, SHARD).text


def test_score_and_the_evaluation_of_fit_are_shared() -> None:
    data = "test = mx.io.NDArrayIter(x, y, batch_size=8)\n"
    fit = FIT.replace("num_epoch", "eval_data=test, num_epoch")
    score = "print(module.score(test, 'acc'))\n"
    text = convert(HEAD + SYMBOL + data + fit + score, SHARD).text
    assert "eval_data=EvaluationShare(test)" in text
    assert "module.score(EvaluationShare(test), SharedMetric('acc'))" in text
    on_servers = Options(evaluation="shard", kvstore="dist_async")
    result = convert(HEAD + SYMBOL + data + fit + score, on_servers)
    assert "EvaluationShare" not in result.text and "MX611" in codes(result)
