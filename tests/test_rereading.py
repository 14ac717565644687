"""Reading only what changed gives what reading everything gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from transpile.text import rereading
from transpile.text.rereading import reread
from transpile.text.source import Source, SourceError, read_source

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "pytorch"
PAIRS = sorted(path for path in FIXTURES.glob("*/train_dist.py"))[::8]
SCRIPT = '''\
"""What it is."""
# Above.
import torch


def f(x):
    return x

# Of g.
@f
def g(x):
    """Two
    lines."""
    return f(x)


y = g(1)
'''


def shape(source: Source) -> list[tuple[type, object, int | None]]:
    """Every node: its kind, its place, and the number of the node that holds it."""
    numbers = {id(node): number for number, node in enumerate(source.nodes)}
    around = [source.parent(node) for node in source.nodes]
    outer = [numbers[id(node)] if node is not None else None for node in around]
    return [
        (type(node), source.span(node), number)
        for node, number in zip(source.nodes, outer, strict=True)
    ]


def agrees(before: Source, text: str) -> None:
    data = text.encode()
    try:
        whole = read_source(data, before.path)
    except SourceError as error:
        with pytest.raises(SourceError) as caught:
            reread(before, data)
        assert (caught.value.message, caught.value.line) == (error.message, error.line)
        return
    parts = reread(before, data)
    assert shape(parts) == shape(whole)
    assert parts.tree.code == whole.tree.code
    assert parts.tree.deep_equals(whole.tree)
    assert (parts.text, parts.newline, parts.indent) == (whole.text, whole.newline, whole.indent)
    assert len(parts.places.around) == len(whole.places.around)


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: str(path.parent.name))
def test_outputs_are_read_as_a_whole_would_be(path: Path) -> None:
    before = read_source(path.with_name("train.py").read_bytes(), "train.py")
    agrees(before, path.read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT,
        SCRIPT.replace("return x\n", "return x + 1\n"),
        SCRIPT.replace("\n# Of g.", "    # Of f.\n# Of g."),
        SCRIPT.replace("\n# Of g.", "# c\n    more(x)\n# Of g."),
        SCRIPT.replace("import torch", "# More above.\nimport os\nimport torch"),
        SCRIPT.replace("import torch\n", ""),
        SCRIPT.partition("import")[2],
        SCRIPT.replace("y = g(1)", "y = g(2)\n"),
        SCRIPT + "\n# End.\n",
        SCRIPT + "    z = 1\n",
        SCRIPT + '"""\n',
        SCRIPT.replace("y = g(1)\n", "y = g(1)"),
        SCRIPT.replace("\n", "\r\n"),
        SCRIPT.replace("@f\n", ""),
        SCRIPT.replace("def g(x):", "if f:\n    pass\nelse:\n    pass\n\n\ndef g(x):"),
        SCRIPT.replace("# Of g.\n", "x = 1 \\\n"),
        "",
    ],
)
def test_changes_of_all_kinds(text: str) -> None:
    agrees(read_source(SCRIPT.encode(), "train.py"), text)


def test_lines_moved_and_lost_at_random() -> None:
    chance = random.Random(3)
    lines = SCRIPT.splitlines(keepends=True)
    before = read_source(SCRIPT.encode(), "train.py")
    for _ in range(150):
        changed = list(lines)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(changed))
            if chance.random() < 0.5:
                del changed[place]
            else:
                changed.insert(place, chance.choice([*lines, "# c\n", "    # c\n", "\n"]))
        agrees(before, "".join(changed))


def test_most_of_an_output_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_source(SCRIPT.encode(), "train.py")
    monkeypatch.setattr(rereading, "read_source", None)
    after = reread(before, SCRIPT.replace("g(1)", "g(2)").encode())
    known = set(map(id, before.nodes))
    again = [node for node in after.nodes if id(node) in known]
    assert len(again) > 90
