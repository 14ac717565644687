"""Trainings of a script that no run of it comes to, and what its modules do when imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, LOOP, STEP, TRAINER

from transpile import Level, Outcome

BY_HAND = """\
w = mx.nd.zeros((4,))
w.attach_grad()


def by_hand():
    for data, label in loader:
        with autograd.record():
            loss = ((mx.nd.dot(data, w) - label) ** 2).sum()
        loss.backward()
        w[:] = w - 0.1 * w.grad / 8


"""
TRAINING = HEAD + LOADER + TRAINER + BY_HAND + LOOP + STEP


def test_a_function_of_the_script_that_nothing_names_is_noted() -> None:
    result = convert(TRAINING)
    assert result.outcome is Outcome.CONVERTED
    assert [(each.code, each.level) for each in result.findings] == [("DT005", Level.NOTE)]


@pytest.mark.parametrize(
    "more",
    ["by_hand()\n", "globals()[mode]()\n", "run = [by_hand]\n", "getattr(net, 'by_hand')()\n"],
)
def test_a_function_that_may_be_called_is_refused(more: str) -> None:
    assert convert(TRAINING + "mode = input()\n" + more).outcome is Outcome.REFUSED


def test_a_function_that_a_decorator_takes_is_refused() -> None:
    script = TRAINING.replace("def by_hand", "@register\ndef by_hand")
    result = convert("from commands import register\n" + script)
    assert result.outcome is Outcome.REFUSED


CHOSEN = "kind = {kind}\nif kind == 'plain':\n    by_hand()\n"


def test_a_training_that_the_values_of_the_script_rule_out_is_noted() -> None:
    result = convert(TRAINING + CHOSEN.format(kind="'gluon'"))
    assert result.outcome is Outcome.CONVERTED
    (found,) = result.findings
    assert found.level is Level.NOTE and "outcome of `kind == 'plain'`" in found.message


@pytest.mark.parametrize("kind", ["'plain'", "input()"])
def test_a_training_that_may_be_chosen_is_refused(kind: str) -> None:
    assert convert(TRAINING + CHOSEN.format(kind=kind)).outcome is Outcome.REFUSED


def test_what_mxnets_modules_print_when_they_are_imported_is_printed_once(tmp_path: Path) -> None:
    steps = (LOADER + TRAINER + LOOP + STEP).replace("\n", "\n    ")
    model = HEAD + f'\n\ndef train():\n    {steps}\n\nprint("imported")\n'
    (tmp_path / "model.py").write_text(model, encoding="utf-8")
    script = "import mxnet as mx\nimport model\n\nmx.random.seed(1)\nmodel.train()\n"
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    result = convert(script, path="train.py", folder=tmp_path)
    assert result.outcome is Outcome.CONVERTED and not result.findings
    (text,) = [each.data.decode() for each in result.modules if each.place == "model.py"]
    assert text.endswith('print_once("imported")\n')
