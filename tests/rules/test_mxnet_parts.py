"""Numbers of parts: of data that the script parts itself, and of samples picked by their places."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import GLUON, HEAD, STEP, codes

OPTIONS = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--kv-store", default="device")
args = parser.parse_args()
kv = mx.kv.create(args.kv_store)
"""
ITERATORS = "".join(
    f'{name} = mx.io.ImageRecordIter(path_imgrec="{name}.rec", data_shape=(3, 8, 8), '
    "batch_size=args.batch_size, num_parts=kv.num_workers, part_index=kv.rank)\n"
    for name in ("train", "val")
)
SYMBOL = 'symbol = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")\n'
MODULE = SYMBOL + "model = mx.mod.Module(symbol)\nmodel.fit(train, kvstore=kv, num_epoch=1)\n"
FORWARD = SYMBOL + "model = mx.model.FeedForward(symbol)\nmodel.fit(X=train, kvstore=kv)\n"
PARTED = HEAD + OPTIONS + ITERATORS


@pytest.mark.parametrize("model", [MODULE, FORWARD], ids=["module", "feed forward"])
def test_scores_of_data_that_the_script_parts_count_all_workers(model: str) -> None:
    result = convert(PARTED + model + 'print(model.score(val, eval_metric=["acc"]))\n')
    assert 'model.score(val, eval_metric=SharedMetric(["acc"]))' in result.text
    assert "MX607" not in codes(result)
    whole = PARTED.replace('"val.rec", ', '"val.rec", shuffle=False, ')
    whole = whole[: whole.rindex(", num_parts")] + ")\n"
    kept = convert(whole + model + 'print(model.score(val, eval_metric=["acc"]))\n')
    assert 'model.score(val, eval_metric=["acc"])' in kept.text


def test_other_passes_over_parted_data_are_said() -> None:
    for use in (
        "print(model.predict(val))\n",
        "for batch in val:\n    print(batch.data[0].mean().asscalar())\n",
        "metric = mx.metric.F1()\nprint(model.score(val, metric))\n",
    ):
        assert "MX607" in codes(convert(PARTED + MODULE + use))
    assert "MX607" not in codes(convert(PARTED + MODULE))


def test_numbers_of_samples_picked_by_their_places_are_those_of_one_worker() -> None:
    picked = "        parts = [label[i * 2 : (i + 1) * 2].mean().asscalar() for i in range(4)]\n"
    result = convert(GLUON + STEP + picked + "    print(sum(parts))\n")
    assert "MX602" in codes(result)
    assert "average_workers(label" not in result.text
    assert "MX602" not in codes(convert(GLUON + STEP + "    print(loss.mean().asscalar())\n"))


def test_losses_of_samples_picked_by_their_places_are_said() -> None:
    first = GLUON.replace("loss_fn(net(data), label)", "loss_fn(net(data)[:4], label[:4])")
    assert "MX310" in codes(convert(first + STEP))
    columns = GLUON.replace("loss_fn(net(data), label)", "loss_fn(net(data)[:, :1], label)")
    assert "MX310" not in codes(convert(columns + STEP))
    listed = GLUON.replace("for data, label in loader:", "for batch in loader:")
    listed = listed.replace("loss_fn(net(data), label)", "loss_fn(net(batch[0]), *batch[1:])")
    assert "MX310" not in codes(convert(listed + STEP))
