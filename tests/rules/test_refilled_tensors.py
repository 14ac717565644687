"""What a tensor holds that is made once and filled anew."""

from __future__ import annotations

import pytest
from single_rule import plan_of

from transpile.facts.values import Constant, Opaque, Value

SCRIPT = """\
import sys
import torch
from torch.autograd import Variable

held = torch.empty(4)
batch = torch.arange(4)
other = torch.arange(4)
{lines}
"""


def read(lines: str, place: str = "here") -> set[str]:
    """What may be read at a place: what was copied in, by its variable, and what else there is."""
    plan = plan_of(SCRIPT.format(lines=lines))
    names = {
        id(value): name
        for event in plan.facts.calls
        for name in ("batch", "other", "held")
        for target in event.module.source.parents(event.node)
        if event.module.source.code(target).startswith(f"{name} = torch")
        for value in event.result
    }
    (event,) = (
        event
        for event in plan.facts.calls
        if len(event.arguments.items) > 1 and event.arguments.items[0].values == (Constant(place),)
    )

    def named(value: Value) -> str:
        if isinstance(value, Opaque) and value.kind == "filling":
            return ", ".join(names[id(source)] for source in value.operands[0])
        if isinstance(value, Opaque) and value.kind == "call" and id(value) not in names:
            return value.callee[0].name if isinstance(value.callee[0], Opaque) else "?"
        return names[id(value)]

    return set(map(named, event.arguments.items[1].values))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("print('here', held)", {"held"}),
        ("print('here', held)\nheld.copy_(batch)", {"held"}),
        ("held.copy_(batch)\nprint('here', held)", {"batch"}),
        ("held.copy_(batch)\nheld.copy_(other)\nprint('here', held)", {"other"}),
        ("held.copy_(batch)\nheld.normal_()\nprint('here', held)", {"normal_"}),
        ("held.data.copy_(batch)\nprint('here', held)", {"batch"}),
        ("Variable(held).copy_(batch)\nprint('here', held)", {"batch"}),
        ("held.resize_(4).copy_(batch)\nprint('here', held)", {"batch"}),
        ("held.clone().copy_(batch)\nprint('here', held)", {"held"}),
        ("def fill(to):\n    to.copy_(batch)\nfill(held)\nprint('here', held)", {"batch"}),
    ],
)
def test_a_reader_finds_what_was_copied_in_last(lines: str, found: set[str]) -> None:
    assert read(lines) == found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("if sys.argv[1:]:\n    held.copy_(batch)\nprint('here', held)", {"held", "batch"}),
        ("if sys.argv[1:]:\n    held.copy_(batch)\n    print('here', held)", {"batch"}),
        (
            "if sys.argv[1:]:\n    held.copy_(batch)\nelse:\n    held.copy_(other)\n"
            "print('here', held)",
            {"held", "batch", "other"},
        ),
        ("for _ in sys.argv:\n    held.copy_(batch)\nprint('here', held)", {"held", "batch"}),
        ("for _ in sys.argv:\n    held.copy_(batch)\n    print('here', held)", {"batch"}),
        (
            "held.copy_(other)\nif sys.argv[1:]:\n    held.copy_(batch)\nprint('here', held)",
            {"other", "batch"},
        ),
    ],
)
def test_what_stood_there_counts_where_a_copy_may_be_passed_by(lines: str, found: set[str]) -> None:
    assert read(lines) == found


def test_what_nobody_has_made_here_is_no_such_tensor() -> None:
    plan = plan_of(
        "import torch\nheld, batch = torch.load('a'), torch.load('b')\n"
        "held.copy_(batch)\nprint('here', held)"
    )
    (event,) = (event for event in plan.facts.calls if len(event.arguments.items) > 1)
    assert all(
        isinstance(value, Opaque) and value.kind != "filling"
        for value in event.arguments.items[1].values
    )
