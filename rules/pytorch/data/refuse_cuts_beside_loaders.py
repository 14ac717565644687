"""Refuse rows that a training step cuts out of data beside the batches of a loader.

What:
    Rows that a step takes from a tensor by a counter, ``targets[i * 12 : (i + 1) * 12]``, that it
    goes through beside a loader, ``zip(train_loader, targets.split(12))``, or takes from an
    iterator, ``next(parts)``, are an error. So are samples that it writes between two counters.

Why:
    A process has every so manieth sample of a batch from the loader, and all of its rows from the
    tensor: they do not belong together, and often are not as many.

Before:
    for i, (x,) in enumerate(train_loader):
        loss = criterion(model(x), targets[i * 12 : (i + 1) * 12])

After:
    for x, target in DataLoader(TensorDataset(inputs, targets), batch_size=12):
        loss = criterion(model(x), target)

Refuses when:
    the index of a tensor in the training step follows a counter, or ``zip`` or ``next`` puts
    elements of a tensor beside the batches, and a loss is made of them; samples are written into a
    slice whose bounds follow counters.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.data.batch_size.uses import reached_in_steps
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Backward, Plan
from transpile.quantity.asking import Kind, quantity
from transpile.rule import Answer, Ruling
from transpile.rules.pytorch.models._split.axis_counts import rank_of

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
CODES = {"PT239": "rows are cut out of data beside the batches of a loader"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that cuts out rows."""
    seen: set[int] = set()
    for backward in plan.backwards:
        if backward.event.detached or not backward.loaders:
            continue
        for module, node in rows(plan, backward):
            if id(node) not in seen:
                seen.add(id(node))
                yield Ruling.refuse(
                    "PT239",
                    (module, node),
                    "these rows are taken one after the other, where a loader gives each process "
                    "its share of the samples: they do not belong together",
                    "put them into the data set of the loader",
                )


def rows(plan: Plan, backward: Backward) -> Iterator[tuple[Module, cst.BaseExpression]]:
    """The expressions in the loop over batches that give other rows in each step."""
    if backward.batch_loop is None:
        return
    module, loop = backward.batch_loop.module, backward.batch_loop.node
    for node in descendants(loop):
        if isinstance(node, cst.Subscript) and cuts_rows(plan, node, loop):
            yield module, node
        if isinstance(node, cst.Call) and takes_next(plan, module, node, loop):
            yield module, node
    for event in plan.facts.stores:
        if isinstance(event.node, cst.Subscript) and event.name == "[]":
            if not event.detached and plan.in_training(event.stack) and writes_rows(plan, event):
                yield event.module, event.node
    if isinstance(loop, cst.For) and isinstance(loop.iter, cst.Call):
        if External("builtins.zip") in plan.facts.values_of(loop.iter.func):
            for argument in loop.iter.args:
                if is_beside(plan, plan.facts.values_of(argument.value)):
                    yield module, argument.value


def cuts_rows(plan: Plan, node: cst.Subscript, loop: cst.CSTNode) -> bool:
    """Whether a subscript gives rows of a tensor, by an index that a counter moves, to a loss."""
    first = node.slice[0].slice
    by = first.value if isinstance(first, cst.Index) else getattr(first, "lower", None)
    if by is None or not is_counter(plan, plan.facts.values_of(by)):
        return False
    if is_fixed_in(loop, plan.facts.values_of(by)):
        return False
    held = quantity(plan, plan.facts.values_of(node.value))
    if held.kind not in (Kind.EQUAL, Kind.NOTHING):
        return False
    if not held.tensor and not are_pieces(plan.facts.values_of(node.value)):
        return False
    single = isinstance(first, cst.Index) and not quantity(plan, plan.facts.values_of(by)).tensor
    if single and all(map(is_list_of_parameters, plan.facts.values_of(node.value))):
        # One number that a model learns; several may be those of samples, by their places.
        return False
    reached = reached_in_steps(plan)
    return any(id(value) in reached for value in plan.facts.values_of(node))


def are_pieces(values: Values) -> bool:
    """Whether values are the pieces that a function of NumPy has cut an array into."""
    return bool(values) and all(
        any(name.startswith("numpy.") and name.endswith("split") for name in called_names(value))
        for value in values
    )


def takes_next(plan: Plan, module: Module, node: cst.Call, loop: cst.CSTNode) -> bool:
    """Whether a call takes the next part of a tensor that no loader has given, for a loss."""
    if External("builtins.next") not in plan.facts.values_of(node.func) or not node.args:
        return False
    values = plan.facts.values_of(node)
    loaders = {id(loader.value) for loader in plan.loaders}
    given, behind = quantity(plan, values), list(walk_back(values))
    if given.kind is not Kind.EQUAL or any(id(value) in loaders for value in behind):
        return False
    # Once for each sample, it is that of other samples, be it a number.
    if not is_of_samples(plan, module, node, loop):
        names = (name for value in behind for name in called_names(value))
        made = any(name.startswith(("torch.", "numpy.")) for name in names)
        if not (given.tensor and made) or rank_of(values) == 0:
            return False
    reached = reached_in_steps(plan)
    return any(id(value) in reached for value in values)


def is_of_samples(plan: Plan, module: Module, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether a loop within the one over batches goes over samples, with a node inside."""
    for outer in module.source.parents(node):
        if outer is loop:
            return False
        clause = outer.for_in if isinstance(outer, cst.BaseComp) else outer
        if isinstance(clause, (cst.For, cst.CompFor)):
            if not quantity(plan, plan.facts.values_of(clause.iter)).independent:
                return True
    return False


def writes_rows(plan: Plan, event: Event) -> bool:
    """Whether samples are written into a slice of a tensor that counters alone bound."""
    assert isinstance(event.node, cst.Subscript)
    part = event.node.slice[0].slice
    if not isinstance(part, cst.Slice) or part.lower is None or part.upper is None:
        return False
    bounds = [plan.facts.values_of(bound) for bound in (part.lower, part.upper)]
    if not all(is_counter(plan, values) for values in bounds):
        return False
    return quantity(plan, event.result).kind is Kind.SAMPLE


def is_list_of_parameters(value: Value) -> bool:
    """Whether a value is a parameter that holds single numbers."""
    if not isinstance(value, Opaque) or PARAMETERS.isdisjoint(called_names(value)):
        return False
    made = value.arguments.get("data", 0)
    return made is not None and rank_of(made.values) == 1


def is_beside(plan: Plan, values: Values) -> bool:
    """Whether what is gone through are parts of a tensor that no loader has given."""
    loaders = {id(loader.value) for loader in plan.loaders}
    found = quantity(plan, values)
    return (
        found.kind is Kind.EQUAL
        and bool(found.tensor)
        and not any(id(value) in loaders for value in walk_back(values))
        and any(
            name.startswith(("torch.", "numpy."))
            for value in walk_back(values)
            for name in called_names(value)
        )
    )


def is_text(value: Value) -> bool:
    """Whether a value is a text or a letter of one, by which parts have names and no places."""
    if isinstance(value, Opaque) and value.kind == "element":
        return bool(value.operands[0]) and all(map(is_text, value.operands[0]))
    return isinstance(value, Constant) and isinstance(value.value, str)


def is_counter(plan: Plan, values: Values) -> bool:
    """Whether a bound changes from step to step, and not with the batch."""
    if not values or all(isinstance(v, Constant) for v in values) or all(map(is_text, values)):
        return False
    found = quantity(plan, values)
    return bool(found.independent and found.degree == 0)


def is_fixed_in(loop: cst.CSTNode, values: Values) -> bool:
    """Whether values are computed of the variables of loops around another one: fixed in it."""
    return all(
        isinstance(value, Constant | External) or is_of_outer_loop(value, loop)
        for value in walk_back(values)
    )


def is_of_outer_loop(value: Value, loop: cst.CSTNode) -> bool:
    """Whether a value is a variable of a loop around another one, or computed on the spot."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element" and isinstance(value.node, cst.For):
        return value.node is not loop and any(node is loop for node in descendants(value.node))
    if value.kind == "call":
        return called_names(value) == ("builtins.range",)
    return isinstance(value.node, cst.BinaryOperation)
