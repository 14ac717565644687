"""What values the expressions of scripts have, and on which branches they are computed."""

from __future__ import annotations

import libcst as cst
import pytest

from transpile import catalog
from transpile.facts.events import Branch
from transpile.facts.extent import Extent, TooLarge
from transpile.facts.folding import Constant, Settled, fold
from transpile.facts.interpreter import Facts, interpret
from transpile.project import Project
from transpile.text.source import read_source

DIALECT = catalog.table("pytorch").dialect


def facts_of(script: str) -> tuple[Facts, Project]:
    """The facts of a script."""
    project = Project(read_source(script.encode(), "train.py"), None)
    return interpret(project.entry, DIALECT, project.find), project


def shown(script: str) -> set[object]:
    """The constants that the argument of ``print`` may be; what else it may be by its type."""
    facts, project = facts_of(script)
    calls = [
        call
        for call in project.entry.source.nodes_of(cst.Call)
        if isinstance(call.func, cst.Name) and call.func.value == "print"
    ]
    values = facts.values_of(calls[-1].args[0].value)
    return {one.value if isinstance(one, Constant) else type(one).__name__ for one in values}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("d = {'a': 1}\nd.pop('a')\nprint(d.get('a', 2))", {2}),
        ("d = {'a': 1, 'b': 3}\nd.pop('b')\nprint(d.get('a', 2))", {1}),
        ("d = {}\nd.setdefault('a', 1)\nprint(d.get('a', 2))", {1}),
        ("d = {'a': 3}\nd.setdefault('a', 1)\nprint(d.get('a', 2))", {3}),
        ("d = {'a': 1}\ne = d.copy()\nprint(e.get('a', 2))", {1}),
        ("d = {'a': 1}\ne = d.copy()\ne['a'] = 3\nprint(d.get('a', 2))", {1}),
    ],
)
def test_dicts_hold_what_was_put_there_and_not_taken_away(lines: str, found: set[object]) -> None:
    assert shown(lines) == found


@pytest.mark.parametrize("base", ["dict", "collections.UserDict", "collections.OrderedDict"])
def test_objects_derived_from_dicts_hold_what_is_put_there(base: str) -> None:
    script = f"import collections\nclass Own({base}):\n    pass\n\n\nd = Own()\nd['a'] = 1\n"
    assert shown(script + "print(d.get('a', 2))") == {1}


def test_heaps_hold_what_is_pushed_and_lists_what_they_are_shown_do_not() -> None:
    pushed = "import heapq\nfound = []\nheapq.heappush(found, 7)\nprint(found[0])"
    assert 7 in shown(pushed)
    assert 7 not in shown("import heapq\nfound = []\nheapq.nlargest(7, found)\nprint(found[0])")


@pytest.mark.parametrize(("out", "stored"), [("x", 1), ("None", 0)])
def test_arrays_given_to_be_written_are_stored_into(out: str, stored: int) -> None:
    facts, _ = facts_of(f"import numpy as np\nx = np.zeros(3)\nnp.add(x, 1, out={out})")
    assert len([one for one in facts.events if one.kind == "store" and one.name == "[]"]) == stored


@pytest.mark.parametrize(("left", "arms"), [("read()", ["right"]), ("True", []), ("False", None)])
def test_the_right_side_of_a_condition_runs_on_one_arm(left: str, arms: list[str] | None) -> None:
    facts, _ = facts_of(f"from data import read, act\nfound = {left} and act()")
    acts = [one for one in facts.calls if any("act" in repr(callee) for callee in one.callee)]
    stacks = [[frame.arm for frame in one.stack if isinstance(frame, Branch)] for one in acts]
    assert stacks == ([] if arms is None else [arms])


def test_what_a_process_is_told_is_no_literal() -> None:
    assert Settled(1) == Settled(1)
    assert Settled(1) != Settled(2)
    assert Settled(1) != Constant(1)


def test_whole_quotients_are_whole() -> None:
    assert fold("FloorDivide", 7, 2) == Constant(3)
    assert fold("Divide", 7, 2) == Constant(3.5)


def test_modules_are_followed_up_to_a_limit() -> None:
    extent = Extent(10)
    extent.add("a/one.py", 6)
    extent.add("b/two.py", 4)
    with pytest.raises(TooLarge) as raised:
        extent.add("b/three.py", 3)
    assert (raised.value.modules, raised.value.folder) == (3, "b")
