"""Put together what comes back from the devices.

What:
    Where the script takes outputs to the host, all processes get the rows of all, in the order of
    the batch, and of a loss the mean over all. Counts, sums, decisions and files that follow are
    those of one process. A number of samples that ``train_one_batch`` adds up is that of all.

Why:
    A device computes its process's samples of a batch alone: its loss and its outputs are a part.

Before:
    correct += accuracy(tensor.to_numpy(out), y)
    total += tensor.to_numpy(loss)[0]

After:
    correct += accuracy(whole_of(tensor.to_numpy(out)), y)
    total += mean_of(tensor.to_numpy(loss))[0]

Refuses when:
    it is not known of what is read whether it is rows, a mean, or the same everywhere, or the size
    of a share is kept by a model otherwise.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Class, External, Opaque, Values
from transpile.facts.walk import descendants, is_of_self
from transpile.layout import wrap_expression
from transpile.plan.flow.places import function_of
from transpile.plan.hooks.kept_by_models import is_first_of_shape
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.singa._roles import methods_of, names_of
from transpile.rules.singa._vocabulary import TO_NUMPY
from transpile.rules.singa.gradients._shares import MEAN, ROWS, SAME, Held, held
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.processes._own_path import own_path

CODES = {
    "SG141": "what comes back from the devices is put together",
    "SG142": "it is not known what comes back from the devices here",
    "SG143": "a part of the batch is read on one device",
    "SG144": "a model counts the samples of all processes",
}
#: Functions and methods that give numbers of a tensor to the host, or show them.
READING = frozenset({"singa.tensor.to_host", "builtins.print", "builtins.float", "builtins.str"})
READING_METHODS = frozenset({"l1", "l2", "to_host", "GetFloatValue", "GetIntValue"})
COUNT = "get_world_size"
HELPERS = {ROWS: "whole_of", MEAN: "mean_of"}


@dataclass(frozen=True, eq=False)
class Read:
    """A place that takes a tensor to the host, and what the tensor holds."""

    event: Event
    kind: Held


@query
def reads_of(plan: Plan) -> list[Read]:
    """The places that take tensors to the host."""
    if own_path(plan) is not None:
        return []
    found: dict[int, list[Event]] = {}
    for event in plan.facts.reached_calls:
        if TO_NUMPY in names_of(event):
            found.setdefault(id(event.node), []).append(event)
    return [Read(events[0], held(plan, values_of(events))) for events in found.values()]


def values_of(events: list[Event]) -> tuple[object, ...]:
    """What is read at a place, whatever the way to it."""
    arguments = [event.arguments.get("t", 0) for event in events]
    return tuple(
        value for argument in arguments if argument is not None for value in argument.values
    )


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that takes a tensor to the host."""
    for read in reads_of(plan):
        event = read.event
        if read.kind.why:
            yield Ruling.refuse(
                "SG142",
                event,
                f"it is not known what this is of the whole batch: {read.kind.why}",
                "read the outputs of the model, or its loss",
            )
        elif read.kind.word != SAME:
            yield Ruling.apply(
                "SG141",
                event,
                "what comes back from the devices is put together",
                data=HELPERS[read.kind.word],
                done=is_shared(plan),
            )
    if own_path(plan) is None and not is_shared(plan):
        yield from other_reads(plan)
        yield from sizes_of_shares(plan)
        yield from counted_in_models(plan)


def other_reads(plan: Plan) -> Iterator[Remark]:
    """Parts of a batch that are read without ``to_numpy``."""
    for event in plan.facts.reached_calls:
        read = (
            [item.values for item in event.arguments.items]
            if (READING.intersection(names_of(event)))
            else []
        )
        read += [memory_of(owner) for name, owner in methods_of(event) if name in READING_METHODS]
        if any(held(plan, values).word in (ROWS, MEAN) for values in read if values):
            yield Remark.error(
                "SG143",
                event,
                "this reads what one device computed of its process's samples",
                "take it to the host with tensor.to_numpy first",
            )


def memory_of(owner: Values) -> Values:
    """The tensors behind their memory, as in ``loss.data``."""
    behind = [
        one
        for value in owner
        if isinstance(value, Opaque) and value.kind == "attribute" and value.name == "data"
        for one in value.operands[0]
    ]
    return tuple(behind) or owner


def sizes_of_shares(plan: Plan) -> Iterator[Remark]:
    """Sizes of tensors on the host, where they are those of shares, not of batches."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            if node.attr.value not in ("shape", "size") or in_layer(plan, module, node):
                continue
            values = plan.facts.values_of(node.value)
            if values and held(plan, values).word == ROWS and not is_of_a_row(module, node):
                yield Remark.error(
                    "SG143",
                    (module, node),
                    f"`{module.source.code(node)}` is the size of one process's share of a batch",
                    "take the size of the array that was copied, or that to_numpy gives",
                )


def in_layer(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is part of a model or a layer, which sees the samples of one process."""
    for parent in module.source.parents(node):
        if isinstance(parent, cst.ClassDef):
            bases = (value for base in parent.bases for value in plan.facts.values_of(base.value))
            return any(isinstance(value, (External, Class)) for value in bases)
    return False


def counted_in_models(plan: Plan) -> Iterator[Answer]:
    """Numbers of samples that a model keeps of the batches which it is given, or gives back."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Subscript):
            if not is_first_of_shape(node) or not in_layer(plan, module, node):
                continue
            statement = kept_by(module, node)
            if statement is None:
                continue
            function = function_of(module, node)
            name = function.name.value if function is not None else ""
            adds = isinstance(statement, cst.AugAssign) and statement.value is node
            if name == "train_one_batch" and adds:
                yield Ruling.apply(
                    "SG144",
                    (module, node),
                    "the samples of all processes are counted here",
                    data=COUNT,
                )
            else:
                yield Remark.error(
                    "SG143",
                    (module, node),
                    f"`{module.source.code(node)}` is the size of one process's share of a batch",
                    "count the samples in the training loop, by the array that is copied",
                )


def kept_by(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The statement that keeps a number for later calls; None where none does."""
    for parent in module.source.parents(node):
        if isinstance(parent, cst.Call) and not is_kept_call(parent):
            return None
        if isinstance(parent, cst.AugAssign):
            return parent if is_of_self(parent.target) else None
        if isinstance(parent, cst.Call):
            return parent
        if isinstance(parent, cst.Assign):
            targets = [each.target for each in parent.targets if is_of_self(each.target)]
            again = any(
                part.deep_equals(target) for target in targets for part in descendants(parent.value)
            )
            return parent if again else None
        if isinstance(parent, cst.BaseStatement):
            return None
    return None


def is_kept_call(call: cst.Call) -> bool:
    """Whether a call puts what it is given into something that a model keeps."""
    function = call.func
    return (
        isinstance(function, cst.Attribute)
        and function.attr.value in ("append", "extend", "update", "add")
        and is_of_self(function.value)
    )


def is_of_a_row(module: Module, node: cst.Attribute) -> bool:
    """Whether a length other than the first is taken of a shape."""
    parent = module.source.parent(node)
    if not isinstance(parent, cst.Subscript) or len(parent.slice) != 1:
        return False
    index = parent.slice[0].slice
    first = index.value if isinstance(index, cst.Index) else getattr(index, "lower", None)
    return isinstance(first, cst.Integer) and first.evaluated_value > 0


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what is read."""
    assert isinstance(ruling.node, cst.BaseExpression)
    yield Helper(ruling.data, ruling.module)
    if ruling.data == COUNT:
        after = f" * {plan.names_in(ruling.module).fresh(COUNT)}()"
        for edit in wrap_expression(ruling.module.source, ruling.node, "", after):
            yield In(ruling.module, edit)
        return
    name = plan.names_in(ruling.module).fresh(ruling.data)
    for edit in wrap_expression(ruling.module.source, ruling.node, f"{name}(", ")"):
        yield In(ruling.module, edit)
