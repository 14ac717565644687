"""Take the first free name for a file or folder from rank 0.

What:
    Behind a loop that looks for a name that no file has yet, every process takes what rank 0
    has found.

Why:
    Rank 0 makes the file or folder as soon as it has its name. A process that looks a moment later
    finds that name taken and goes on with another one, in which nothing will ever be.

Before:
    number = 0
    while os.path.exists(f"runs/{number}"):
        number += 1
    os.makedirs(f"runs/{number}")

After:
    number = 0
    while os.path.exists(f"runs/{number}"):
        number += 1
    number = from_main_process(number)
    if is_main_process():
        os.makedirs(f"runs/{number}")

Refuses when:
    never: a name that is looked for before the processes know of each other is a warning.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.layout import insert_after
from transpile.plan.effects.file_reads import event_asks
from transpile.plan.effects.readback import places_of
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._data import agreed_nodes
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.randomness._random_draws import Draws

CODES = {
    "PT737": "a name that is looked for is that of rank 0",
}


@dataclass(frozen=True, eq=False)
class Search:
    """A loop that looks for a free name.

    Args:
        module: where it stands.
        loop: the loop.
        names: what it changes on the way, in the order of the text.
    """

    module: Module
    loop: cst.While
    names: tuple[str, ...]


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each loop that looks for a name."""
    once = once_of(plan)
    draws = Draws(plan)
    alone = {id(statement) for run in once.runs for statement in run.statements}
    seen: set[int] = set()
    for event in plan.facts.events:
        search = search_of(event)
        if search is None or event.detached or id(search.loop) in seen:
            continue
        seen.add(id(search.loop))
        if once.ranks.some_ranks(event) or once.ranks.in_turn(event.stack):
            continue
        if any(id(place) in alone for place in places_of(event)):
            continue
        if agreed(plan, search):
            yield Ruling.done(
                "PT737",
                (search.module, search.loop),
                "all processes take the name that one of them found",
            )
        elif draws.joined_before(event):
            yield Ruling.apply(
                "PT737",
                (search.module, search.loop),
                "a name that is free for one process may be taken for the next",
                data=search,
            )
        else:
            yield Remark.warn(
                "PT737",
                (search.module, search.loop),
                "each process looks for a free name by itself, and may find another one",
                "look for it behind the place where the process group is joined",
            )


def search_of(event: Event) -> Search | None:
    """The loop that an event is the test of, if it asks whether files exist and counts on."""
    if event.kind != "call" or not event_asks(event):
        return None
    inner: cst.CSTNode = event.node
    for outer in ancestors(event.module, event.node):
        if isinstance(outer, cst.While):
            names = counted_in(event.module, outer) if inner is outer.test else ()
            return Search(event.module, outer, names) if names else None
        if not isinstance(outer, cst.BaseExpression) and not isinstance(outer, cst.Arg):
            return None
        inner = outer
    return None


def counted_in(module: Module, loop: cst.While) -> tuple[str, ...]:
    """The variables that the body of a loop sets, in its own function."""
    function = function_of(module, loop)
    found: list[str] = []
    for node in descendants(loop.body):
        targets: list[cst.BaseExpression] = []
        if isinstance(node, cst.Assign):
            targets = [target.target for target in node.targets]
        elif isinstance(node, cst.AugAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, cst.Name) and function_of(module, node) is function:
                if target.value not in found:
                    found.append(target.value)
    return tuple(found)


def agreed(plan: Plan, search: Search) -> bool:
    """Whether every variable of a search is made equal behind its loop."""
    nodes = agreed_nodes(plan)
    body = search.module.source.parent(search.loop)
    given = {
        node.value
        for node in descendants(body if body is not None else search.loop)
        if isinstance(node, cst.Name) and id(node) in nodes
    }
    return given.issuperset(search.names)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The name of rank 0, behind the loop."""
    search: Search = ruling.data
    yield Helper("from_main_process", search.module)
    agree = plan.names_in(search.module).fresh("from_main_process")
    lines = [f"{name} = {agree}({name})" for name in search.names]
    for edit in insert_after(search.module.source, search.loop, lines):
        yield In(search.module, edit)
