"""Numbers that leave the training batch, and what makes them those of the global batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import BoundMethod, Constant, External, Function, Opaque, Sequence
from transpile.facts.walk import children, returned
from transpile.plan.data.batch_size.reads import shapes
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.query import query
from transpile.quantity.domain import Kind, Quantity
from transpile.rules.paddle.losses._leaves import Change, Doubt, Leaf, Numbers
from transpile.rules.paddle.losses._losses import is_sum_or_nothing, rewritten
from transpile.rules.paddle.losses._shapes import note_shapes
from transpile.rules.paddle.losses._shares import Shares, analysis

#: Methods and functions that make numbers of tensors.
NUMBER_METHODS = frozenset({"item", "numpy", "tolist"})
NUMBER_FUNCTIONS = frozenset({"builtins.float", "builtins.int"})
#: Functions and methods whose arguments are shown or kept.
SHOWING = frozenset(
    {
        "builtins.print", "logging.info", "logging.debug", "logging.warning", "logging.log",
        "sys.stdout.write",
    }
)  # fmt: skip
SHOWING_METHODS = frozenset(
    {
        "info", "debug", "warning", "add_scalar", "write", "set_postfix", "set_description",
        "writerow",
    }
)  # fmt: skip
#: Methods of lists.
KEEPING = frozenset({"append", "extend"})
#: What texts are put together by: the numbers stand in the arguments.
TEXTS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
TEXT_FUNCTIONS = frozenset(
    {"builtins.str", "builtins.repr", "builtins.format", "builtins.round", "builtins.dict"}
)
FORMATTING = (cst.FormattedString, cst.Tuple, cst.List, cst.Dict)


@query
def numbers(plan: Plan) -> Numbers:
    """The numbers of a script; found once for all rules."""
    return find_numbers(plan)


def together(plan: Plan) -> frozenset[int]:
    """The expressions that every process evaluates, by the identity of their node."""
    return frozenset(numbers(plan).leaves)


def find_numbers(plan: Plan) -> Numbers:
    """See :func:`numbers`.

    What is kept is looked at in the order of the run, so that a number is taken over all processes
    where it leaves the batch and not again where it is used; what is shown comes last.
    """
    found = Numbers()
    used = reached_by_losses(plan)
    events = [event for event in plan.facts.events if not event.detached]
    converted: set[int] = set()
    adding: set[int] = set()
    known = 0
    after = analysis(plan)

    def settled() -> Shares:
        nonlocal known, after
        if len(found.leaves) + len(converted) != known:
            known = len(found.leaves) + len(converted)
            after = Shares(plan, frozenset({*converted, *found.leaves}))
        return after

    for event in events:
        for node in counted(plan, event, settled(), used):
            found.leaves[id(node)] = Leaf(event.module, node, Change.COUNT)
    for event in events:
        for node in closure_losses(event):
            quantity = settled().of(plan.facts.values_of(node))
            if reducible(quantity):
                consider(plan, found, settled(), event, node, quantity)
            elif quantity.kind in (Kind.SAMPLE, Kind.UNKNOWN):
                reason = quantity.reason or "it is made of this process's samples"
                found.doubts[id(node)] = Doubt(event.module, node, reason)
    others = set(found.leaves)
    for event in events:
        if convert_number(plan, found, settled(), event, used):
            converted.add(id(event.node))
        others |= found.leaves.keys() - adding
        for node in kept(event, used):
            quantity = settled().of(plan.facts.values_of(node))
            look(plan, found, settled(), event, node, quantity, used)
        adding |= found.leaves.keys() - others
    drop_settled(plan, found, adding, Shares(plan, frozenset({*converted, *others})))
    for event in events:
        for node in shown_by(event):
            note_shapes(found, settled(), event, node)
            quantity = settled().of(plan.facts.values_of(node))
            look(plan, found, settled(), event, node, quantity, used)
    found.after = settled()
    return found


def reducible(quantity: Quantity) -> bool:
    """Whether a number of one process has a counterpart over the global batch."""
    return quantity.is_mean or quantity.is_sum


def drop_settled(plan: Plan, found: Numbers, adding: set[int], without: Shares) -> None:
    """Leave out what is added up and was taken over all processes before, on every way there.

    A meter is given one number after the other, of which the first is looked at before the rest.
    """
    for key in adding & found.leaves.keys():
        quantity = without.of(plan.facts.values_of(found.leaves[key].node))
        if quantity.is_same:
            del found.leaves[key]


def closure_losses(event: Event) -> Iterator[cst.BaseExpression]:
    """The losses that a closure gives to an optimizer, which compares them and hands one on."""
    if calls_method(event, frozenset({"step"})):
        for argument in event.arguments.items:
            for function in argument.values:
                if isinstance(function, Function) and function.module is event.module:
                    if isinstance(function.node, cst.FunctionDef):
                        yield from returned(function.node)


def convert_number(
    plan: Plan, found: Numbers, quantities: Shares, event: Event, used: set[int]
) -> bool:
    """Look at a tensor that becomes a number; whether it is taken over all processes."""
    node = number_of(event)
    if node is None or any(id(value) in used for value in event.result):
        return False
    if id(node) in found.leaves:
        return True
    if number_inside(node, found):
        return False
    values = plan.facts.values_of(node)
    quantity = quantities.of(values)
    if reducible(quantity):
        consider(plan, found, quantities, event, node, quantity)
    elif quantity.kind is Kind.UNKNOWN and quantities.of_training(values):
        found.doubts[id(node)] = Doubt(event.module, node, quantity.reason)
    elif quantity.kind is Kind.SAMPLE and quantities.of_training(values):
        reason = "it is made of this process's samples, and of no others"
        found.doubts[id(node)] = Doubt(event.module, node, reason)
    return id(node) in found.leaves


def number_of(event: Event) -> cst.BaseExpression | None:
    """The tensor that an event makes a number of."""
    if event.kind != "call" or not isinstance(event.node, cst.Call):
        return None
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in NUMBER_METHODS and isinstance(event.node.func, cst.Attribute):
                return event.node.func.value
        if isinstance(callee, External) and callee.name in NUMBER_FUNCTIONS and event.node.args:
            return event.node.args[0].value
    return None


def counted(
    plan: Plan, event: Event, quantities: Shares, used: set[int]
) -> Iterator[cst.BaseExpression]:
    """The numbers of samples that a function of the project is given, such as a meter's."""
    if event.kind != "call" or not isinstance(event.node, cst.Call):
        return
    if not event.callee or not all(isinstance(c, (Function, BoundMethod)) for c in event.callee):
        return
    if any(id(value) in used for value in event.result):
        return
    for argument, written in zip(event.arguments.items, event.node.args, strict=False):
        if written.star or argument.node is not written.value:
            continue
        if isinstance(written.value, (cst.Call, cst.Subscript)):
            if any(id(value) in shapes_tensors(plan) for value in argument.values):
                continue
            if quantities.of(argument.values).is_count:
                yield written.value


@query
def shapes_tensors(plan: Plan) -> set[int]:
    """The identities of what calls that give tensors their shapes are given."""
    return {
        id(value)
        for event in plan.facts.calls
        if shapes(plan, event.callee)
        for item in event.arguments.items
        for held in item.values
        for value in (held.every() if isinstance(held, Sequence) else (held,))
    }


def kept(event: Event, used: set[int]) -> Iterator[cst.BaseExpression]:
    """The expressions that are added up or put into a list at an event."""
    if event.kind == "operate" and isinstance(event.node, cst.AugAssign):
        if not any(id(value) in used for value in event.result):
            yield event.node.value
    if calls_method(event, KEEPING):
        yield from arguments_of(event)


def shown_by(event: Event) -> Iterator[cst.BaseExpression]:
    """The expressions that are printed, logged or recorded at an event."""
    names = {callee.name for callee in event.callee if isinstance(callee, External)}
    if (event.kind == "call" and names & SHOWING) or calls_method(event, SHOWING_METHODS):
        yield from arguments_of(event)


def arguments_of(event: Event) -> Iterator[cst.BaseExpression]:
    """The arguments of a call as they are written."""
    if isinstance(event.node, cst.Call):
        for argument in event.node.args:
            if not argument.star:
                yield argument.value


def calls_method(event: Event, words: frozenset[str]) -> bool:
    """Whether a call is that of a method of something that is not the project's own."""
    if event.kind != "call" or not isinstance(event.node, cst.Call):
        return False
    if any(isinstance(callee, (Function, BoundMethod)) for callee in event.callee):
        return False
    function = event.node.func
    return isinstance(function, cst.Attribute) and function.attr.value in words


def look(
    plan: Plan,
    found: Numbers,
    after: Shares,
    event: Event,
    node: cst.BaseExpression,
    quantity: Quantity,
    used: set[int],
) -> None:
    """Find the numbers of the batch in an expression that is shown or kept."""
    if id(node) in found.leaves or isinstance(node, (cst.SimpleString, cst.Integer, cst.Float)):
        return
    values = plan.facts.values_of(node)
    if quantity.agreed:
        return
    found.leaves.update(read_again(plan, found, event, node))
    if id(node) in found.leaves:
        return
    if number_inside(node, found):
        for child in parts(node):
            look(plan, found, after, event, child, after.of(plan.facts.values_of(child)), used)
        return
    if isinstance(node, FORMATTING) or formats(plan, node):
        for child in parts(node):
            look(plan, found, after, event, child, after.of(plan.facts.values_of(child)), used)
        return
    if reducible(quantity) and not all(isinstance(v, (Opaque, Constant)) for v in values):
        found.doubts.setdefault(id(node), Doubt(event.module, node, "it is kept in a list"))
    elif reducible(quantity):
        if not any(id(value) in used for value in values if isinstance(value, Opaque)) or shown(
            event
        ):
            consider(plan, found, after, event, node, quantity)
    elif quantity.is_count:
        found.leaves[id(node)] = Leaf(event.module, node, Change.COUNT)
    elif quantity.kind is Kind.UNKNOWN and isinstance(node, (cst.Name, cst.Call, cst.Attribute)):
        if not isinstance(event.node, cst.AugAssign) and after.of_training(values):
            found.doubts.setdefault(id(node), Doubt(event.module, node, quantity.reason))


def read_again(plan: Plan, found: Numbers, event: Event, node: cst.CSTNode) -> dict[int, Leaf]:
    """The attributes in an expression that are numbers of samples, read elsewhere before.

    Each time that it is read an attribute is one value, which counts as taken over all processes
    from the first time on.
    """
    known = {
        id(value)
        for leaf in found.leaves.values()
        if leaf.change is Change.COUNT and isinstance(leaf.node, cst.Attribute)
        for value in plan.facts.values_of(leaf.node)
    }
    again: dict[int, Leaf] = {}
    stack = [node] if known else []
    while stack:
        one = stack.pop()
        if isinstance(one, cst.Attribute):
            values = plan.facts.values_of(one)
            if values and all(id(value) in known for value in values):
                again[id(one)] = Leaf(event.module, one, Change.COUNT)
                continue
        stack.extend(children(one))
    return {key: leaf for key, leaf in again.items() if key not in found.leaves}


def shown(event: Event) -> bool:
    """Whether an event only shows or keeps something."""
    return event.kind == "call"


def number_inside(node: cst.CSTNode, found: Numbers) -> bool:
    """Whether a part of an expression is taken over all processes already."""
    return any(
        id(child) in found.leaves or number_inside(child, found)
        for child in children(node)
        if isinstance(child, cst.CSTNode)
    )


def formats(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression puts a text together: ``"%s" % x``, ``"{}".format(x)``, ``str(x)``."""
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Modulo):
            return isinstance(node.left, TEXTS)
        return isinstance(node.operator, cst.Add) and any(
            isinstance(side, TEXTS) or formats(plan, side) for side in (node.left, node.right)
        )
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute):
            return node.func.attr.value == "format"
        names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
        return bool(names) and names <= TEXT_FUNCTIONS
    return False


def parts(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions that an expression is directly made of."""
    if isinstance(node, cst.Call):
        for argument in node.args:
            yield argument.value
        return
    for child in children(node):
        if isinstance(child, cst.BaseExpression):
            yield child
        elif not isinstance(child, cst.BaseSmallStatement):
            yield from parts(child)


def consider(
    plan: Plan,
    found: Numbers,
    quantities: Shares,
    event: Event,
    node: cst.BaseExpression,
    quantity: Quantity,
) -> None:
    """Take a number over all processes, if all of them come by."""
    if not quantity.pending <= rewritten(plan):
        reason = "it is divided by, or added to, what differs between the processes"
        found.doubts[id(node)] = Doubt(event.module, node, reason)
        return
    change = Change.MEAN if quantity.is_mean else Change.SUM
    if change is Change.SUM and not all(
        is_sum_or_nothing(quantities.of((value,)))
        for value in plan.facts.values_of(node)
        if isinstance(value, Opaque)
    ):
        reason = "the same place counts the whole of another data set, too"
        found.doubts[id(node)] = Doubt(event.module, node, reason)
        return
    why = lonely(plan, quantities, event)
    if why:
        found.doubts[id(node)] = Doubt(event.module, node, why)
        return
    found.leaves[id(node)] = Leaf(event.module, node, change)


def lonely(plan: Plan, quantities: Shares, event: Event) -> str:
    """Why only some processes may come by a place; empty where all do."""
    loops = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    inside = False
    for frame in event.stack:
        if isinstance(frame, Loop) and id(frame.node) in loops:
            inside = True
        if inside and isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            test = quantities.of(plan.facts.values_of(frame.node.test))
            if not test.is_same:
                return "only the processes whose samples say so come by here"
    return ""


def is_chance(value: object) -> bool:
    """Whether a value is drawn by chance, by the clock or by the machine."""
    return isinstance(value, Opaque) and any(
        name.startswith(("random.", "numpy.random.", "time.", "paddle.rand", "psutil."))
        for name in called_names(value)
    )
