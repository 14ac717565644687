"""Numbers of training batches that are written, or shown by way of a list."""

from __future__ import annotations

import pytest
from mxnet_scripts import GLUON, HEAD, STEP, SYMBOL

from transpile import Options, convert

RIGHT = "        right += (net(data).argmax(1) == label).sum().asscalar()\n"
SCRIPT = "import json\nimport csv\nimport pickle\n" + GLUON.replace(
    "    for data", "    right = 0\n    for data"
)


@pytest.mark.parametrize(
    "shown",
    [
        'print(*["%.6g" % value for value in [epoch, right / 64]])',
        "line = [epoch, right]\n    print(line)",
        'json.dump([right], open("right.json", "w"))',
        'with open("right.txt", "w") as file:\n        file.write(str(right))',
        'with open("right.csv", "w") as file:\n        csv.writer(file).writerow([epoch, right])',
        'np.save("right.npy", np.array([right]))',
        'pickle.dump({"right": right}, open("right.pkl", "wb"))',
    ],
)
def test_they_are_those_of_all_workers(shown: str) -> None:
    result = convert(f"{SCRIPT}{STEP}{RIGHT}    {shown}\n", Options(shard="data"))
    assert "right += add_workers(" in result.text
    assert "MX602" not in {one.code for one in result.findings}


def test_what_does_not_add_up_is_told_where_it_is_written() -> None:
    kept = "        right = net(data).asnumpy().std()\n"
    shown = '    json.dump([float(right)], open("spread.json", "w"))\n'
    result = convert(f"{SCRIPT}{STEP}{kept}{shown}", Options(shard="data"))
    assert "MX602" in {one.code for one in result.findings}


MODULE = f"""\
{HEAD}{SYMBOL}
module.bind(train.provide_data, train.provide_label)
module.init_params()
module.init_optimizer()
for epoch in range(2):
    train.reset()
    seen = 0
    for batch in train:
        module.forward(batch)
        module.backward()
        module.update()
        {{count}}
    print(epoch, seen)
"""


@pytest.mark.parametrize(
    ("count", "told"),
    [
        ("seen += (module.get_outputs()[0].asnumpy() > 0).sum()", True),
        ("seen += int((batch.label[0].asnumpy() == 1).sum())", True),
        ("seen += 1", False),
    ],
)
def test_numbers_of_modules_that_are_stepped_are_told(count: str, told: bool) -> None:
    result = convert(MODULE.format(count=count), Options(shard="data"))
    assert ("MX602" in {one.code for one in result.findings}) is told
