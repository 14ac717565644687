"""What follows from numbers of one worker's part of a batch: rates, parameters, counters, sets."""

from __future__ import annotations

import pytest
from mxnet_scripts import GLUON, STEP, codes

from transpile import Options, Outcome, convert

BEFORE = """\
import bisect
import collections

bad, table, counts = 0, {False: 0.3, True: 0.02}, collections.Counter()
seen, tally = set(), {True: 0, False: 0}
"""
MEAN = "loss.mean().asscalar()"
LOWEST = "loss.min().asscalar()"
RATES = [
    "trainer.set_learning_rate(0.02 if {} > 0.3 else 0.3)",
    "trainer.set_learning_rate([0.3, 0.02][int({} > 0.3)])",
    "trainer.set_learning_rate({{False: 0.3, True: 0.02}}[{} > 0.3])",
    "trainer.set_learning_rate(table.get({} > 0.3, 0.1))",
    "trainer.set_learning_rate([0.3, 0.02][bisect.bisect([0.2], {})])",
    "trainer.set_learning_rate({} > 0.3 and 0.02 or 0.3)",
]
PARAMETERS = [
    "[p.set_data(p.data() * {}) for p in net.collect_params().values()]",
    "net.weight.data()[:] = net.weight.data() * {}",
    "net.weight.data()[:] *= {}",
]
COUNTS = [
    "bad += 1 if {} > 0.3 else 0",
    "if {} > 0.3:\n            bad += 1",
    "tally[{} > 0.3] += 1",
]


def script(line: str) -> str:
    return BEFORE + GLUON + STEP + f"        {line}\n"


@pytest.mark.parametrize("line", [*RATES, *PARAMETERS, *COUNTS])
def test_means_are_taken_over_all_workers(line: str) -> None:
    result = convert(script(line.format(MEAN)))
    assert result.outcome is Outcome.CONVERTED and not codes(result) & {"MX613", "MX614", "MX615"}
    assert f"average_workers({MEAN})" in result.text


@pytest.mark.parametrize(
    ("lines", "code"),
    [(RATES, "MX613"), (PARAMETERS, "MX615"), (COUNTS[:2], "MX614"), (COUNTS[2:], "MX602")],
)
def test_others_are_told_and_exact_by_calls(lines: list[str], code: str) -> None:
    for line in lines:
        text = script(line.format(LOWEST))
        assert code in codes(convert(text, Options(shard="data"))), line
        split = convert(text)
        assert split.outcome is Outcome.CONVERTED and "split_calls(net)" in split.text
        assert code not in codes(split)


@pytest.mark.parametrize(
    "line",
    [
        "counts.update(label.asnumpy().tolist())",
        "counts.subtract(label.asnumpy().tolist())",
        "seen.update(label.asnumpy().tolist())",
    ],
)
def test_counters_and_sets_that_methods_change_are_told(line: str) -> None:
    assert "MX602" in codes(convert(script(line), Options(shard="data")))


@pytest.mark.parametrize(
    "line",
    [
        "trainer.set_learning_rate(0.02 if epoch > 0 else 0.3)",
        "if epoch > 0: trainer.set_learning_rate(0.02)",
        f"if {LOWEST} > 5: print('high')",
        f"if {LOWEST} > 5: raise ValueError",
        "if data is None: bad += 1",
        "fresh = collections.Counter(); fresh.update(label.asnumpy().tolist())",
        "counts.update([epoch])",
        "net.weight.set_data(net.weight.data() * 0.99)",
    ],
)
def test_what_no_share_decides_is_left_alone(line: str) -> None:
    found = codes(convert(script(line), Options(shard="data")))
    assert not found & {"MX602", "MX613", "MX614", "MX615"}
