"""Give sets and listings one order on all processes.

What:
    Where a set of strings is brought into an order, it is sorted; a set of anything else, and a
    listing of files that data or labels are read from, is that of rank 0.

Why:
    The hash of a string differs from process to process, and so does the order of a set: one
    process's word number 5 would be another's number 7. Directories are listed in an order that
    differs from machine to machine.

Before:
    words = list(set(text.split()))

After:
    words = sorted(set(text.split()))

Refuses when:
    never: what stands where the processes cannot agree is a warning.

Source:
    https://docs.python.org/3/reference/datamodel.html#object.__hash__,
    https://docs.python.org/3/library/os.html#os.listdir
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import External, Instance, Opaque, Value, Values
from transpile.layout import replace_expression, wrap_expression
from transpile.plan.data.data_code import drawing_code
from transpile.plan.effects.missing_files import MissingFiles
from transpile.plan.effects.readback import places_of
from transpile.plan.graph import called_names, parents
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.agreement._sets import elements_in, is_set, is_set_value, set_parts
from transpile.rules.pytorch.agreement._together import agreed_values
from transpile.rules.pytorch.agreement._unordered import (
    LISTS,
    all_numbers,
    all_strings,
    ignored,
    order_matters,
    sorted_later,
)
from transpile.rules.pytorch.data._data import Data, agreed_nodes, names_called
from transpile.rules.pytorch.effects._made_folders import may_be_made_meanwhile
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.randomness._random_draws import Draws

CODES = {
    "PT731": "a set has the same order on all processes",
    "PT732": "a listing is that of rank 0",
}
#: What makes a sequence of an iterable, in its order.
ORDERING = frozenset({"builtins.list", "builtins.tuple"})
#: What looks at an iterable in its order.
LOOKING = frozenset({"builtins.enumerate", "builtins.zip", "builtins.map", "builtins.iter"})
#: What pairs elements with their places, or with those of others: whoever takes the pairs cares.
PAIRING = frozenset({"builtins.enumerate", "builtins.zip"})
WHICH = "which element a set gives first differs from process to process"
#: How the elements of a set that may not be sortable are taken from rank 0.
SENT = {"sorted": "rank 0", "sort": "list of rank 0"}
LISTINGS = frozenset({"os.listdir", "glob.glob", "os.scandir", "glob.iglob", "os.walk"})
LISTING_METHODS = frozenset({"iterdir", "glob", "rglob"})


@dataclass(frozen=True, eq=False)
class Ordering:
    """An expression whose order becomes equal.

    Args:
        module: where it stands.
        node: the expression.
        way: ``sorted`` in place of its function, ``sort`` around it, ``rank 0`` or ``list of rank
            0``.
    """

    module: Module
    node: cst.BaseExpression
    way: str


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each order that would differ from process to process."""
    if not any(not backward.event.detached for backward in plan.backwards):
        return
    draws = Draws(plan)
    yield from sets(plan, draws)
    yield from listings(plan, Data(plan), draws)


# Sets.


def sets(plan: Plan, draws: Draws) -> Iterator[Answer]:
    """Places that look at the elements of a set in their order."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if id(event.node) in seen or event.kind not in ("call", "iterate"):
            continue
        if event.detached and id(event.node) not in drawing_code(plan):
            continue
        seen.add(id(event.node))
        if is_taken_out(event):
            yield Remark.warn("PT731", event, WHICH, "sort the set")
            continue
        found: Ordering | None = None
        if isinstance(event.node, cst.Call):
            found = set_in_call(plan, event.module, event.node)
        elif isinstance(event.node, (cst.For, cst.CompFor)):
            iterated = event.node.iter
            if is_set(plan, iterated) and order_matters(plan, event.module, event.node):
                found = Ordering(event.module, iterated, "sort")
        if found is None:
            continue
        elements = elements_of(plan, found)
        if all_numbers(elements) or is_made_once(plan, event):
            continue
        yield set_answer(found, all_strings(elements), event, draws)


def is_made_once(plan: Plan, event: Event) -> bool:
    """Whether one process comes here alone, to make a file that the others find and read then.

    They take turns where the file is made, so that they could not meet there either.
    """
    once = once_of(plan)
    places = {id(place) for place in places_of(event)}
    return any(
        not preparation.why_not
        and preparation.forced is None
        and any(id(statement) in places for statement in preparation.statements)
        for preparation in once.preparations
    ) and bool(MissingFiles(once, VOCABULARY).decider(event))


def is_taken_out(event: Event) -> bool:
    """Whether a call takes whichever element a set gives first."""
    return event.kind == "call" and any(
        isinstance(callee, Opaque)
        and callee.name == "pop"
        and any(map(is_set_value, callee.operands[0]))
        and not all_numbers(tuple(v for each in callee.operands[0] for v in elements_in(each)))
        for callee in event.callee
        if not isinstance(callee, Opaque) or callee.kind == "attribute"
    )


def set_answer(found: Ordering, strings: bool, event: Event, draws: Draws) -> Answer:
    """What is done about one set: sorted where it can be, else taken from rank 0."""
    why = "the order of a set differs from process to process"
    if strings:
        return Ruling.apply("PT731", found, why, data=found)
    # What loaders call is called as often as a process has samples.
    if draws.joined_before(event) and not event.detached:
        sent = Ordering(found.module, found.node, SENT[found.way])
        return Ruling.apply("PT731", found, why, data=sent)
    return Remark.warn("PT731", found, why, "sort its elements")


def set_in_call(plan: Plan, module: Module, node: cst.Call) -> Ordering | None:
    """A set that a call brings into an order; None for anything else."""
    names = names_called(plan, node)
    if names & ORDERING and len(node.args) == 1 and is_set(plan, node.args[0].value):
        if ignored(plan, module, node) or sorted_later(plan, module, node):
            return None
        if id(node) in agreed_nodes(plan):
            return None
        if "builtins.list" in names:
            return Ordering(module, node, "sorted")
        return Ordering(module, node.args[0].value, "sort")
    in_loop = isinstance(module.source.parent(node), cst.CompFor)
    if names & LOOKING and (in_loop or names & PAIRING or not ignored(plan, module, node)):
        for arg in node.args:
            if is_set(plan, arg.value):
                return Ordering(module, arg.value, "sort")
    return None


def elements_of(plan: Plan, found: Ordering) -> Values:
    """The elements of the set that an ordering is about."""
    node = found.node
    if found.way == "sorted" and isinstance(node, cst.Call):
        node = node.args[0].value
    elements: list[Value] = []
    for part in set_parts(node):
        if isinstance(part, cst.SetComp):
            elements.extend(plan.facts.values_of(part.elt))
        for value in plan.facts.values_of(part):
            elements.extend(elements_in(value))
    return tuple(elements)


# Listings.


def listings(plan: Plan, data: Data, draws: Draws) -> Iterator[Answer]:
    """Listings of files that data or labels are read from."""
    numbered, drawing = numbered_values(plan), drawing_code(plan)
    # What loaders call is read for its own sake, once at each place.
    called = {id(each.node): each for each in plan.facts.calls if id(each.node) in drawing}
    called.update((id(each.node), each) for each in plan.facts.places_called)
    for event in sorted(called.values(), key=lambda each: each.order):
        node = event.node
        names = {callee.name for callee in event.callee if isinstance(callee, External)}
        if not (names & LISTINGS or lists_path(event)) or not isinstance(node, cst.Call):
            continue
        if ignored(plan, event.module, node) or sorted_later(plan, event.module, node):
            continue
        read = data.holds(event.result) or any(id(v) in numbered for v in event.result)
        if not read and id(node) not in drawing:
            continue
        if id(event.node) in agreed_nodes(plan) or any(
            id(value) in agreed_values(plan) for value in event.result
        ):
            yield Ruling.done("PT732", (event.module, node), "all processes take the same listing")
        elif may_be_made_meanwhile(plan, event):
            yield Remark.warn(
                "PT732",
                (event.module, node),
                "files are listed in an order that may differ from machine to machine, but only "
                "where a folder is found that one process may just be making: the processes "
                "cannot agree here",
                "sort the listing, or make the folder before the training is started",
            )
        elif names & LISTS and draws.joined_before(event) and id(node) not in drawing:
            yield Ruling.apply(
                "PT732",
                (event.module, node),
                "files are listed in an order that may differ from machine to machine",
                data=Ordering(event.module, node, "rank 0"),
            )
        else:
            yield Remark.warn(
                "PT732",
                (event.module, node),
                "files are listed in an order that may differ from machine to machine, and data "
                "is read in that order",
                "sort the listing",
            )


def lists_path(event: Event) -> bool:
    """Whether a call lists a directory through a path object."""
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name in LISTING_METHODS
        and any(is_path(value) for value in callee.operands[0])
        for callee in event.callee
    )


def is_path(value: Value) -> bool:
    """Whether a value is a path object."""
    if any(name.startswith("pathlib.") for name in called_names(value)):
        return True
    if isinstance(value, Opaque) and value.kind == "operation" and value.name == "Divide":
        return any(is_path(v) for v in value.operands[0])
    return False


def numbered_values(plan: Plan) -> set[int]:
    """The identities of values that ``enumerate`` numbers, and of what they were made of."""
    found: set[int] = set()
    for event in plan.facts.calls:
        if External("builtins.enumerate") in event.callee:
            pending = [v for item in event.arguments.items for v in item.values]
            while pending:
                value = pending.pop()
                if id(value) in found or isinstance(value, Instance):
                    continue
                found.add(id(value))
                for group in parents(value):
                    pending.extend(group)
    return found


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression in an order that is equal everywhere."""
    data: Ordering = ruling.data
    source = data.module.source
    if data.way == "rank 0":
        yield Helper("from_main_process", data.module)
        name = plan.names_in(data.module).fresh("from_main_process")
        changes = wrap_expression(source, data.node, f"{name}(", ")")
    elif data.way == "list of rank 0":
        yield Helper("from_main_process", data.module)
        name = plan.names_in(data.module).fresh("from_main_process")
        changes = wrap_expression(source, data.node, f"{name}(list(", "))")
    elif data.way == "sorted":
        assert isinstance(data.node, cst.Call)
        changes = replace_expression(source, data.node.func, "sorted")
    else:
        changes = wrap_expression(source, data.node, "sorted(", ")")
    for edit in changes:
        yield In(data.module, edit)
