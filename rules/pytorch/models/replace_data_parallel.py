"""Let one process per GPU take the place of DataParallel.

What:
    A model that the script puts into ``DataParallel`` in any case goes into
    ``DistributedDataParallel`` instead where there are several processes; both have the model as
    ``module`` and the same names in their state. Where the script does so on some machines only,
    or with a part of the model, ``DataParallel`` stays for the names that it gives, on the GPU of
    its process alone.

Why:
    ``DataParallel`` copies the model to all GPUs of a node at every step. In each of several
    processes it would take the GPUs of the others.

Before:
    model = nn.DataParallel(model).cuda()
    optimizer = SGD(model.parameters(), lr=0.1)

After:
    model = nn.DataParallel(model).cuda()
    if get_world_size() > 1:
        model = DistributedDataParallel(model.module)
    optimizer = SGD(model.parameters(), lr=0.1)

Refuses when:
    a class of the script derives from ``DataParallel``.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.DataParallel.html,
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Class, Constant, External, Opaque, Sequence, Value
from transpile.layout import add_argument, wrap_expression
from transpile.plan.graph import method_calls, origin, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.devices._devices import follows_rank
from transpile.rules.pytorch.devices._model_places import model_place
from transpile.rules.pytorch.gradients._averaging import averaged_by_hand
from transpile.rules.pytorch.models._data_parallel import (
    COPIES,
    DATA_PARALLEL,
    data_parallel_calls,
    replaces_data_parallel,
    wrapped_by_script,
)

CODES = {
    "PT811": "DataParallel keeps to the GPU of its process",
    "PT812": "DataParallel is derived from",
    "PT813": "a model is copied onto several GPUs by hand",
    "PT814": "DataParallel moved this to the GPU",
}
#: What copies the wrapper of a model with it.
COPYING = ("copy.deepcopy", "copy.copy", "torch.optim.swa_utils.AveragedModel")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that uses DataParallel."""
    done: set[int] = set()
    replaced = replaced_calls(plan)
    if replaced or any(is_copied(plan, event) for event in data_parallel_calls(plan)):
        yield from left_on_cpu(plan)
    for event in data_parallel_calls(plan):
        if id(event.node) in done or (event.detached and not event.module.is_entry):
            continue
        done.add(id(event.node))
        if keeps_to_own(event) or gives_way(plan, event):
            yield Ruling.done("PT811", event, "DataParallel keeps to the GPU of its process")
            continue
        if id(event.node) in replaced and not names_gpus(event):
            yield Ruling.apply(
                "PT811", event, "DistributedDataParallel takes the place of DataParallel"
            )
            continue
        yield Ruling.apply(
            "PT811", event, "DataParallel keeps to the GPU of its process", data=event
        )
    for event in plan.facts.calls_to(*COPIES):
        if not event.detached and id(event.node) not in done:
            done.add(id(event.node))
            yield Ruling.refuse(
                "PT813",
                event,
                "this copies the model onto all GPUs of one process, past its wrap, where each "
                "process is to use one GPU",
                "call the model itself, without copies, where there are several processes",
            )
    for event in plan.facts.reached_calls:
        if id(event.node) in done:
            continue
        for callee in event.callee:
            if isinstance(callee, Class) and DATA_PARALLEL in callee.external_bases():
                done.add(id(event.node))
                yield Ruling.refuse(
                    "PT812",
                    event,
                    f"'{callee.name}' derives from DataParallel: what it adds cannot be kept with "
                    "one process per GPU",
                    "use the model itself, without the class, where there are several processes",
                )


def left_on_cpu(plan: Plan) -> Iterator[Remark]:
    """A warning where a model is given what DataParallel alone brought to its GPU."""
    if model_place(plan) == "cpu":
        return
    seen: set[int] = set()
    for model in plan.trained_models:
        wrap = replacing_wrap(plan, model)
        if wrap is None or not replaces_data_parallel(plan, wrap):
            continue
        for event in model.forwards:
            given = list(event.arguments.items)
            values = [value for item in given for value in item.values]
            if id(event.node) in seen or event.detached or any(map(may_be_on_gpu, values)):
                continue
            seen.add(id(event.node))
            yield Remark.warn(
                "PT814",
                event,
                "DataParallel brought what this model is given to the GPU: a model of one process "
                "takes it as it is",
                "move the inputs to the model's device before this call",
            )


def may_be_on_gpu(value: Value) -> bool:
    """Whether a value may have been moved on its way from where batches are drawn."""
    open_values, seen = [value], set()
    while open_values:
        each = open_values.pop()
        if id(each) in seen or isinstance(each, (Constant, External)):
            continue
        seen.add(id(each))
        if not isinstance(each, Opaque) or each.kind in ("parameter", "filling"):
            return True
        if each.kind == "element":
            continue
        if each.kind == "call":
            if any(name in ("cuda", "to") for name, _ in method_calls(each)):
                return True
            if each.arguments.unknown_because or each.arguments.keyword("device") is not None:
                return True
            for _, receivers in method_calls(each):
                open_values.extend(receivers)
            for item in each.arguments.items:
                open_values.extend(item.values)
        for operand in each.operands:
            open_values.extend(operand)
    return False


def replaced_calls(plan: Plan) -> set[int]:
    """The calls of DataParallel whose result is never called where there are several processes."""
    found: set[int] = set()
    for model in plan.trained_models:
        wrap = None if wrapped_already(plan, model) else replacing_wrap(plan, model)
        if wrap is not None and replaces_data_parallel(plan, wrap):
            if all(event.order >= wrap.order for event in model.forwards):
                found.update(
                    id(event.node)
                    for event in wrapped_by_script(plan, model.value)
                    if not is_copied(plan, event)
                )
    return found


def replacing_wrap(plan: Plan, model: Model) -> Wrap | None:
    """Where DistributedDataParallel goes around a model, if its gradients are left to it."""
    wrap = find_wrap(plan, model)
    return wrap if isinstance(wrap, Wrap) and not averaged_by_hand(plan, model) else None


def is_copied(plan: Plan, event: Event) -> bool:
    """Whether DataParallel itself is copied, and the copy may be called."""
    made = {id(value) for value in event.result}
    return any(
        id(behind) in made
        for copied in plan.facts.calls_to(*COPYING)
        for item in copied.arguments.items[:1]
        for behind in walk_back(item.values)
    )


def gives_way(plan: Plan, event: Event) -> bool:
    """Whether the script puts what DataParallel holds into DistributedDataParallel."""
    if External(DATA_PARALLEL) not in event.callee or names_gpus(event):
        return False
    held = [origin(value) for item in event.arguments.items[:1] for value in item.values]
    return any(
        isinstance(other.node, cst.Call)
        and isinstance(other.node.args[0].value, cst.Attribute)
        and other.node.args[0].value.attr.value == "module"
        and any(origin(v) is h for v in other.arguments.items[0].values for h in held)
        for other in plan.facts.calls_to(*plan.table.wrappers)
    )


def names_gpus(event: Event) -> bool:
    """Whether a call says which GPUs to use."""
    return event.arguments.get("device_ids", position(event)) is not None


def keeps_to_own(event: Event) -> bool:
    """Whether a call is given the GPU of its process already."""
    argument = event.arguments.get("device_ids", position(event))
    if argument is None:
        return False
    elements = [
        values
        for value in argument.values
        if isinstance(value, Sequence)
        for values in (*value.elements, value.rest)
    ]
    return any(follows_rank(values) for values in (argument.values, *elements))


def position(event: Event) -> int:
    """Where among the arguments the GPUs are."""
    return 1 if External(DATA_PARALLEL) in event.callee else 2


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The GPUs of the call, those of the process."""
    event: Event | None = ruling.data
    if event is None:
        return
    assert isinstance(event.node, cst.Call)
    yield Helper("own_gpus", event.module)
    own = plan.names_in(event.module).fresh("own_gpus")
    source = event.module.source
    given = event.arguments.get("device_ids", position(event))
    if given is None or not isinstance(given.node, cst.BaseExpression):
        changes = add_argument(source, event.node, f"device_ids={own}()")
    else:
        changes = wrap_expression(source, given.node, f"{own}(", ")")
    for edit in changes:
        yield In(event.module, edit)
