"""Converted fixtures really train with one process and with two, and are audited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases
from launched import Run, lines, run

np = pytest.importorskip("numpy")

CONVERTED = [
    case
    for case in cases("paddle")
    if case.expect == "converted" and dict(case.options).get("mode") != "pserver"
]
Interpreters = Callable[[str], Path]


def distance(first: list[Any], second: list[Any]) -> float:
    """The largest difference between two lists of parameters."""
    assert len(first) == len(second) > 0
    return max(float(np.abs(a - b).max()) for a, b in zip(first, second, strict=True))


@pytest.fixture(scope="module", params=CONVERTED, ids=lambda case: case.folder.name)
def runs(
    request: pytest.FixtureRequest,
    interpreter_of: Interpreters,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Case, Run, Run, Run]:
    """The original, and the output with one process and with two."""
    case: Case = request.param
    folder = tmp_path_factory.mktemp(case.folder.name)
    interpreter = interpreter_of("paddle")
    original = run(interpreter, case.script, folder / "original", case.arguments, 1)
    single = run(interpreter, case.expected_output, folder / "single", case.arguments, 1)
    double = run(interpreter, case.expected_output, folder / "double", case.arguments, 2)
    return case, original, single, double


def test_one_process_does_what_the_original_does(runs: tuple[Case, Run, Run, Run]) -> None:
    case, original, single, _ = runs
    assert single.seen[0]["written"] == original.seen[0]["written"] or case.length_may_differ
    if case.deterministic:
        assert distance(original.parameters, single.parameters) == 0
        assert lines(single.outputs[0]) == lines(original.outputs[0])


def test_two_processes_train_one_model(runs: tuple[Case, Run, Run, Run]) -> None:
    case, original, _, double = runs
    first, second = double.seen
    assert distance(first["parameters"], second["parameters"]) == 0
    assert first["steps"] == second["steps"] > 0
    if not case.length_may_differ:
        assert first["steps"] == original.seen[0]["steps"]
    if case.deterministic:
        exact = 'set_default_dtype("float64")' in case.script.read_text("utf-8")
        assert distance(original.parameters, double.parameters) < (1e-12 if exact else 1e-4)


def test_the_processes_share_the_samples(runs: tuple[Case, Run, Run, Run]) -> None:
    case, original, _, double = runs
    if not original.seen[0]["drawn"] or not original.drawn(0)[0]:
        pytest.skip(
            "a stream or arrays, of which no indices are drawn: the test of the parameters tells"
        )
    if "SplitCalls(" in case.expected_output.read_text("utf-8"):
        assert original.drawn(0) == double.drawn(0) == double.drawn(1) or not case.deterministic
        return
    passes = zip(original.drawn(0), double.drawn(0), double.drawn(1), strict=True)
    for whole, first, second in passes if case.deterministic else ():
        for batch, one, other in zip(whole, first, second, strict=True):
            assert len(one) == len(other)
            padding = Counter([*one, *other]) - Counter(batch)
            assert not Counter(batch) - Counter([*one, *other])
            assert padding.total() <= 1
    for first, second in zip(double.drawn(0), double.drawn(1), strict=True):
        drawn = [index for batch in (*first, *second) for index in batch]
        assert len(drawn) - len(set(drawn)) <= 1 or case.deterministic


def test_everything_is_written_and_printed_once(runs: tuple[Case, Run, Run, Run]) -> None:
    case, original, _, double = runs
    assert double.seen[1]["written"] == []
    assert lines(double.outputs[1]) == []
    assert set(double.seen[0]["written"]) == set(original.seen[0]["written"])
    if case.deterministic:
        assert len(lines(double.outputs[0])) == len(lines(original.outputs[0]))
    split = "SplitCalls(" in case.expected_output.read_text("utf-8")
    if split or dict(case.options).get("evaluation") == "shard":
        assert lines(double.outputs[0]) == lines(original.outputs[0])
