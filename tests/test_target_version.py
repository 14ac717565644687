"""An output runs on the version of the framework that the user names, or there is none."""

from __future__ import annotations

import pytest
from cases import cases

from transpile import Options, Outcome, catalog, convert
from transpile.cli import main

CASES = {case.name: case for case in cases() if case.expect == "converted"}


def outcome(name: str, version: tuple[int, ...] | None, **options: object) -> tuple[Outcome, str]:
    """What becomes of a fixture, and what is said of versions."""
    case = CASES[name]
    chosen = Options(target_version=version, **{**dict(case.options), **options})  # type: ignore[arg-type]
    result = convert(case.script.read_bytes(), chosen, path="train.py", folder=case.script.parent)
    said = [found.message for found in result.findings if found.code == "DT014"]
    return result.outcome, " ".join(said)


def first(framework: str) -> str:
    """A converted fixture of a framework, without options of its own."""
    return next(n for n, c in CASES.items() if n.startswith(framework + "/") and not c.options)


@pytest.mark.parametrize(
    ("framework", "older", "oldest"),
    [
        ("pytorch", (1, 9, 1), (1, 10)),
        ("mxnet", (1, 2), (1, 2, 1)),
        ("fluid", (1, 4), (1, 5)),
    ],
)
def test_output_is_refused_below_the_oldest_version(
    framework: str, older: tuple[int, ...], oldest: tuple[int, ...]
) -> None:
    name = first(framework)
    refused, why = outcome(name, older)
    assert refused is Outcome.REFUSED
    assert "or later" in why
    for version in (oldest, None):
        assert outcome(name, version) == (Outcome.CONVERTED, "")


def test_fluid_ends_with_its_last_version() -> None:
    assert outcome(first("fluid"), (1, 8))[0] is Outcome.CONVERTED
    assert "before 2.0" in outcome(first("fluid"), (2, 0))[1]


def test_a_choice_may_need_a_newer_version() -> None:
    assert outcome("pytorch/fully_sharded", (2, 6))[0] is Outcome.CONVERTED
    refused, why = outcome("pytorch/fully_sharded", (2, 5, 1))
    assert refused is Outcome.REFUSED
    assert why == "--strategy fsdp needs PyTorch 2.6 or later"


def test_every_framework_says_what_it_needs() -> None:
    assert all(catalog.table(name).versions is not None for name in catalog.frameworks())


@pytest.mark.parametrize(("word", "status"), [("1.9", 3), ("1.10", 0), ("new", 2), ("2.", 2)])
def test_command(word: str, status: int) -> None:
    script = str(CASES["pytorch/main_sgd"].script)
    assert main([script, "--target-version", word]) == status


def test_static_graphs_need_a_newer_paddle() -> None:
    refused, why = outcome("paddle/static_feed", (2, 6))
    assert refused is Outcome.REFUSED
    assert why == "this static graph needs Paddle 3.0 or later"
    assert outcome("paddle/static_feed", (3, 1))[0] is Outcome.CONVERTED
    assert outcome("paddle/static_feed", (2, 6), paddle_api="fleet")[1] == ""
    assert "before 3.0" in outcome("paddle/static_feed", (3, 0), mode="pserver")[1]
