"""Whether batches that a script cuts out of its data by index can be sharded."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    Function,
    Generator,
    Sequence,
    Values,
    join,
)
from transpile.plan.flow.places import function_of, statement_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Backward, Cut, Plan
from transpile.plan.query import query
from transpile.quantity.asking import Kind, quantity
from transpile.records import dataclass
from transpile.rules.pytorch.data._cuts.batch_sources import no_data_set, why_no_loader
from transpile.rules.pytorch.data._cuts.doubts import carried_over, first_dimension, loss_of_samples
from transpile.rules.pytorch.data._cuts.sizes import argument_text, other_sizes, size_text

ELSEWHERE = (
    "the same code cuts out the batches that it trains on and others, which every process "
    "must see whole"
)


@dataclass(frozen=True, eq=False)
class Taking:
    """What is done about one cut.

    Args:
        cut: the cut.
        module: where the edit goes.
        node: the expression that gives the batch, or the statement that binds its parts.
        targets: the names to bind anew below the statement, or at the top of the loop; empty where
            the expression is wrapped.
        size: the text of the size of a batch; None for all batches at once.
        together: the one name holds a tuple of such parts.
    """

    cut: Cut
    module: Module
    node: cst.CSTNode
    targets: tuple[str, ...]
    size: str | None
    together: bool = False


@dataclass(frozen=True, eq=False)
class Sharing:
    """How the batches of a backward pass are sharded.

    Args:
        takings: what is done about each cut.
        sizes: expressions that are the size of a batch and shape something else in the step.
        done: each process takes its part already.
        why_not: why it cannot be done; empty where it can.
    """

    takings: tuple[Taking, ...] = ()
    sizes: tuple[tuple[Module, cst.BaseExpression], ...] = ()
    done: bool = False
    why_not: str = ""


@query
def sharing(plan: Plan, backward: Backward) -> Sharing:
    """How the batches of a backward pass without loaders are sharded, or why not."""
    return find_sharing(plan, backward)


def find_sharing(plan: Plan, backward: Backward) -> Sharing:
    """The same, without remembering it."""
    if backward.cuts and all(cut.done for cut in backward.cuts):
        return Sharing(done=True)
    if not backward.cuts:
        return Sharing(why_not=why_no_loader(plan, backward))
    in_streams = all(cut.streams is not None for cut in backward.cuts)
    why = (
        no_data_set(plan, backward)
        or backward.cut_problem
        or ("" if in_streams else carried_over(plan, backward))
        or ("" if in_streams else first_dimension(plan, backward))
        or loss_of_samples(plan, backward)
        or beside_loader(plan, backward)
    )
    if why:
        return Sharing(why_not=why)
    if plan.options.batch_size == "per-device":
        return Sharing(
            why_not="the script itself goes through its data in steps of the batch size, so that a "
            "batch of that size for each process would have to change those steps"
        )
    takings: list[Taking] = []
    for cut in backward.cuts:
        if cut.done or cut.fresh:
            continue
        found = takings_of(plan, backward, cut)
        if isinstance(found, str):
            return Sharing(why_not=found)
        for taking in found:
            if not any(taking.node is other.node for other in takings):
                takings.append(taking)
    sizes = other_sizes(plan, backward)
    if isinstance(sizes, str):
        return Sharing(why_not=sizes)
    return Sharing(tuple(takings), sizes)


def beside_loader(plan: Plan, backward: Backward) -> str:
    """Why what is cut out may not be shared, where another loss puts it beside a loader's batch."""
    cut = {id(value) for each in backward.cuts if not each.fresh for value in each.values}
    for other in plan.backwards:
        if other.loaders and any(id(value) in cut for value in walk_back(other.loss)):
            return (
                "what is cut out of the data here meets the batch of a loader, whose shares are "
                "other rows of it"
            )
    return ""


# Where the parts are taken.


def takings_of(plan: Plan, backward: Backward, cut: Cut) -> list[Taking] | str:
    """What is done about a cut, or why nothing can be."""
    values = plan.facts.values_of(cut.node)
    if cut.streams is not None:
        return [Taking(cut, cut.module, cut.node, (), str(cut.streams))]
    if cut.pieces:
        if iterated_elsewhere(plan, backward, values):
            return ELSEWHERE
        return [Taking(cut, cut.module, cut.node, (), None)]
    seen_whole = all(id(value) in plan.samples for value in values)
    if seen_whole and not called_elsewhere(plan, backward, cut):
        size = size_text(plan, cut, cut.module, cut.node)
        if size is None:
            return "it is not clear how large a batch is where it is cut out of the data"
        return [Taking(cut, cut.module, cut.node, (), size)]
    drawn = drawn_in_loop(plan, backward, cut)
    return [drawn] if drawn is not None else bound_again(plan, backward, cut) or ELSEWHERE


def iterated_elsewhere(plan: Plan, backward: Backward, batches: Values) -> bool:
    """Whether a list of batches is gone through beside the training."""
    loop = backward.batch_loop
    return any(
        event.kind == "iterate"
        and (loop is None or event.node is not loop.node)
        and any(value is other for value in walk_back(event.callee) for other in batches)
        for event in plan.facts.events
    )


def called_elsewhere(plan: Plan, backward: Backward, cut: Cut) -> bool:
    """Whether the function that cuts out a batch is also called beside the training."""
    function = function_of(cut.module, cut.node)
    loop = backward.batch_loop
    if function is None or loop is None:
        return False
    around = [id(frame.node) for frame in backward.event.stack]
    iterated = [
        value
        for event in plan.facts.iterations
        if event.node is loop.node
        for value in event.callee
    ]
    for event in plan.facts.reached_calls:
        if function not in called_nodes(event):
            continue
        if any(frame.node is loop.node for frame in event.loops()):
            continue
        path = [*(id(frame.node) for frame in event.stack), id(event.node)]
        if around[: len(path)] == path:
            continue
        if not any(value is other for value in event.result for other in iterated):
            return True
    return False


def called_nodes(event: Event) -> list[cst.CSTNode]:
    """The definitions of the project's functions that a call may lead into."""
    found: list[cst.CSTNode] = []
    for callee in event.callee:
        if isinstance(callee, BoundMethod):
            found.append(callee.function.node)
        elif isinstance(callee, Function):
            found.append(callee.node)
    return found


def bound_again(plan: Plan, backward: Backward, cut: Cut) -> list[Taking]:
    """The statements of the training that get their batches from a function others call, too.

    That is the one in the loop over the batches, and the one before it that draws the first batch
    where each round draws the next. Empty where that is not how it is.
    """
    function = function_of(cut.module, cut.node)
    loop = backward.batch_loop
    if function is None or loop is None:
        return []
    found: list[Taking] = []
    inside = 0
    for event in plan.facts.reached_calls:
        if function not in called_nodes(event):
            continue
        if not any(id(value) in plan.samples for value in walk_back(event.result)):
            continue
        taking = binding_of(plan, cut, event)
        within = any(frame.node is loop.node for frame in event.loops())
        ahead = is_before(event, backward, loop)
        if taking is None or not (within or ahead):
            return []
        if not any(taking.node is other.node for other in found):
            found.append(taking)
            inside += within
    return found if inside == 1 else []


def is_before(event: Event, backward: Backward, loop: Loop) -> bool:
    """Whether a call stands in front of the loop over the batches, or of a loop around that."""
    around = [id(frame.node) for frame in backward.event.stack]
    outside = around[: around.index(id(loop.node))]
    own = [id(frame.node) for frame in event.stack]
    return own == outside[: len(own)] and event.order < backward.event.order


def binding_of(plan: Plan, cut: Cut, event: Event) -> Taking | None:
    """``x, y = get_batch()``: the names that hold samples, to be bound again below it."""
    statement = statement_of(event.module, event.node)
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    assign = statement.body[0]
    if not isinstance(assign, cst.Assign) or assign.value is not event.node:
        return None
    if len(assign.targets) != 1 or not isinstance(event.node, cst.Call):
        return None
    names = names_of_samples(plan, assign.targets[0].target, event.result)
    size = size_text(plan, cut, event.module, event.node)
    size = size or argument_text(cut, event.module, event.node)
    if not names or size is None:
        return None
    together = is_tuple_of_samples(plan, assign.targets[0].target, event.result)
    return Taking(cut, event.module, statement, names, size, together)


def drawn_in_loop(plan: Plan, backward: Backward, cut: Cut) -> Taking | None:
    """``for x, y in batches(data, size)``: the names, to be bound again at the top of the loop."""
    loop = backward.batch_loop
    if loop is None or not isinstance(loop.node, cst.For):
        return None
    iterated: Values = ()
    for event in plan.facts.iterations:
        if event.node is loop.node and not event.detached:
            iterated = join(iterated, event.callee)
    if len(iterated) != 1 or not isinstance(iterated[0], Generator):
        return None
    call = iterated[0].node
    if not isinstance(call, cst.Call) or call is not loop.node.iter:
        return None
    names = names_of_samples(plan, loop.node.target, iterated[0].yields)
    size = size_text(plan, cut, loop.module, call) or argument_text(cut, loop.module, call)
    if not names or size is None:
        return None
    together = is_tuple_of_samples(plan, loop.node.target, iterated[0].yields)
    return Taking(cut, loop.module, loop.node, names, size, together)


def names_of_samples(
    plan: Plan, target: cst.BaseExpression, values: Values
) -> tuple[str, ...] | None:
    """The names among the targets of an assignment that hold samples; None where it is unclear."""
    if len(values) != 1:
        return None
    if isinstance(target, cst.Name) and is_tuple_of_samples(plan, target, values):
        return (target.value,)
    pairs: list[tuple[cst.BaseExpression, Values]] = [(target, values)]
    if isinstance(target, cst.Tuple):
        result = values[0]
        if not isinstance(result, Sequence) or result.rest:
            return None
        if len(result.elements) != len(target.elements):
            return None
        named = [element.value for element in target.elements]
        pairs = list(zip(named, result.elements, strict=True))
    names: list[str] = []
    for name, held in pairs:
        found = quantity(plan, held)
        if found.kind is Kind.EQUAL:
            continue
        if found.kind is not Kind.SAMPLE or found.dim != 0 or not isinstance(name, cst.Name):
            return None
        names.append(name.value)
    return tuple(names)


def is_tuple_of_samples(plan: Plan, target: cst.BaseExpression, values: Values) -> bool:
    """Whether a name holds a tuple of tensors of samples."""
    result = values[0] if len(values) == 1 else None
    if not isinstance(target, cst.Name) or not isinstance(result, Sequence):
        return False
    if result.rest or result.kind != "tuple":
        return False
    several = [quantity(plan, element) for element in result.elements]
    return all(found.kind is Kind.SAMPLE and found.dim == 0 for found in several)
