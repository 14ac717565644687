"""Calls that repeat another one are followed once, and say what following them again says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from row_attacks import ATTACKS
from row_models import APART, CHECK, COUPLED, Small
from test_rows import SCRIPT, definitions, rows

from transpile.facts.values import Constant, Function
from transpile.rows import calls
from transpile.rows.again import told_apart
from transpile.rows.domain import Cell, Group, Known, Unknown
from transpile.rows.expressions import Expressions
from transpile.rows.run import Run

#: Models whose calls repeat each other, but are not all alike.
REPEATING = [
    Small(
        "state between calls",
        made="self.fc = nn.Linear(5, 5)\nself.last = None",
        forward=("self.last = x\n" "for _ in range(3):\n    x = self.next(x)\n" "return x"),
    ),
    Small(
        "lists between calls",
        forward=(
            "parts = []\nfor _ in range(3):\n    self.put(parts, x)\nreturn torch.cat(parts, 0)"
        ),
    ),
    Small(
        "lists of the model",
        forward="self.parts = []\nfor _ in range(5):\n    self.keep(x)\nreturn self.parts[4]",
    ),
    Small(
        "lists made in calls",
        made="self.fc = nn.Linear(10, 5)",
        forward="for _ in range(3):\n    x = self.fc(torch.cat(self.both(x, x), 1))\nreturn x",
    ),
    Small(
        "lists grown in calls",
        made="self.fc = nn.Linear(10, 5)",
        forward="while x.sum() > 0:\n    x = self.fc(torch.cat(self.grown(x), 1))\nreturn x",
    ),
    Small(
        "chance", forward="for _ in range(3):\n    x = self.shaken(x) + self.shaken(x)\nreturn x"
    ),
    Small("mixing", forward="for _ in range(3):\n    x = self.centred(x)\nreturn x"),
    Small(
        "state set in calls",
        forward=(
            "no = 0\nfor _ in range(4):\n    self.turned = no\n    self.turn()\n"
            "return x.t() if self.turned else x"
        ),
    ),
    Small(
        "prints of samples",
        forward="for _ in range(3):\n    self.say(x)\nreturn x",
    ),
]
#: Some of those whose verdicts other tests know.
FURTHER = [*APART, *(one for one, _ in (*COUPLED, *CHECK)), *ATTACKS][::6]
METHODS = """\
    def next(self, x):
        self.last = self.last + x.mean(0)
        return x + self.last

    def put(self, parts, x):
        parts.append(x)

    def keep(self, x):
        self.parts.append(x)

    def both(self, x, y):
        return [x, y]

    def grown(self, x):
        parts = []
        parts.append(x)
        parts.append(x)
        return parts

    def shaken(self, x):
        return x + torch.rand_like(x)

    def centred(self, x):
        return x - x.mean(0)

    def turn(self):
        self.turned = 1

    def say(self, x):
        print(x)

    def scaled"""
STEPPING = Small(
    "steps",
    made="self.fc = nn.Linear(5, 5)\nself.out = nn.Linear(5, 5)",
    forward="for _ in range({rounds}):\n    x = self.step(x)\nreturn x",
)
STEP = """\
    def step(self, x):
        both = torch.cat([x, x], dim=1)
        h = F.relu(self.fc(both[:, :5])) + x
        return x + self.out(torch.tanh(h)) * 2

    def scaled"""


def text_of(small: Small, methods: str = METHODS) -> str:
    """The script that trains a small model with some methods."""
    return definitions(small).replace("    def scaled", methods, 1) + SCRIPT


def always(run: Run, function: Function, names: dict[str, Known], go: Callable[[], Known]) -> Known:
    """Follow every call."""
    return go()


def told(text: str) -> tuple[object, ...]:
    """What is said of the one model of a script."""
    found = rows(text)
    line = found.module.source.span(found.node).start if found.module and found.node else None
    return (
        found.verdict, found.inputs, found.keywords, found.outputs, found.noise, found.batch_norm,
        found.reason, line, found.cause, found.agreed, found.possible, found.laws,
    )  # fmt: skip


def test_what_differs_in_anything_is_told_apart() -> None:
    number, truth, problem = Constant(1), Constant(True), Unknown("nothing is known")
    assert told_apart(number) != told_apart(truth)
    assert told_apart(problem) != told_apart(Unknown("nothing is known", cause="layout"))
    assert told_apart(Group((number,))) != told_apart(Group((), number))
    assert told_apart(Group((number,))) == told_apart(Group((Constant(1),)))
    assert told_apart(Group((Cell((1, ())),))) is None


@pytest.mark.parametrize(
    "small",
    [*REPEATING, *FURTHER],
    ids=lambda small: small.name,
)
def test_what_repeats_is_told_as_if_it_were_followed(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(small)
    found = told(text)
    monkeypatch.setattr(calls, "once", always)
    assert found == told(text)


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many expressions are evaluated."""
    evaluated = [0]
    plain = Expressions.evaluate

    def counted(self: Expressions, node: object) -> Known:
        evaluated[0] += 1
        return plain(self, node)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Expressions, "evaluate", counted)
        yield evaluated


def test_rounds_that_do_the_same_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for rounds in (4, 40):
        small = STEPPING._replace(forward=STEPPING.forward.format(rounds=rounds))
        with counting(monkeypatch) as evaluated:
            assert rows(text_of(small, STEP)).verdict == "apart"
        counts.append(evaluated[0])
    few, many = counts
    assert many < 4 * few


def test_what_is_too_long_stays_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    small = STEPPING._replace(forward=STEPPING.forward.format(rounds=40))
    text = text_of(small, STEP)
    for module in ("state", "again"):
        monkeypatch.setattr(f"transpile.rows.{module}.MOST_STEPS", 500)
    assert "too large" in rows(text).reason
