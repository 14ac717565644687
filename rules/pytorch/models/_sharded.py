"""What keeps a model from being spread over the processes, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    External,
    Instance,
    Opaque,
    Value,
    only_constant,
)
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names, is_instance_of, origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.frozen import unfrozen_later
from transpile.plan.models.parts import part_of, parts_of
from transpile.plan.models.wraps import Wrap
from transpile.plan.roles.surroundings import inside_module, top_module
from transpile.records import dataclass
from transpile.rules.pytorch.models._batch_norm import has_batch_norm
from transpile.rules.pytorch.models._data_parallel import replaces_data_parallel
from transpile.rules.pytorch.models._unused.search import may_leave_parameters_out

#: Optimizers that update each element by itself, so that a process can update its own.
ELEMENTWISE = frozenset(
    {"Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "SGD"}
)
CLIPPING = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_"})
COMPILING = ("torch.compile", "torch.jit.", "torch.fx.")
#: Functions that may be given a model: they neither copy nor pickle it.
HARMLESS = frozenset(
    {"builtins.print", "builtins.isinstance", "builtins.id", "builtins.type", "builtins.str"}
)


#: Methods of a model that need no whole parameters, or that are looked at elsewhere.
HARMLESS_METHODS = frozenset(
    {
        "parameters", "named_parameters", "state_dict", "load_state_dict", "train", "eval",
        "zero_grad", "modules", "named_modules", "children", "named_children", "buffers",
        "named_buffers", "forward",
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Why a model cannot be sharded.

    Args:
        module: where that is seen.
        node: the place.
        reason: why, in one sentence.
        advice: what to do.
    """

    module: Module
    node: cst.CSTNode
    reason: str
    advice: str = "use --strategy ddp"


def obstacles(plan: Plan, model: Model, wrap: Wrap) -> Iterator[Obstacle]:
    """Everything that keeps a model from being sharded where it would be wrapped."""
    yield from of_the_model(plan, model, wrap)
    yield from of_its_optimizers(plan, model, wrap)
    yield from of_its_calls(plan, model, wrap)
    yield from of_its_parameters(plan, model, wrap)


def of_the_model(plan: Plan, model: Model, wrap: Wrap) -> Iterator[Obstacle]:
    """What the model itself has."""
    here = (wrap.module, wrap.node)
    if replaces_data_parallel(plan, wrap):
        yield Obstacle(*here, "the script wraps this model into DataParallel")
    if wrap.thawed or unfrozen_later(plan, model, wrap.order) is not None:
        yield Obstacle(*here, "parameters of this model learn that are frozen when it is sharded")
    if has_batch_norm(plan, model):
        yield Obstacle(
            *here,
            "this model has batch norm, whose statistics fully_shard leaves to each process",
            "use --strategy ddp, or a norm that takes no statistics over the batch",
        )
    if may_leave_parameters_out(plan, model):
        yield Obstacle(
            *here,
            "a backward pass may leave parts of this model out, in which the processes would have "
            "to meet",
        )
    yield from changing_buffers(plan)
    if model.updated_by_hand:
        yield Obstacle(*here, "the script updates the parameters of this model itself")


def changing_buffers(plan: Plan) -> Iterator[Obstacle]:
    """Buffers that a forward pass changes: each process would have its own."""
    names = set()
    for event in plan.facts.calls:
        if any(isinstance(c, Opaque) and c.name == "register_buffer" for c in event.callee):
            first = event.arguments.get("name", 0)
            found = only_constant(first.values) if first is not None else None
            names.add(found.value if found is not None else None)
    if not names:
        return
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            if node.attr.value not in names:
                continue
            function = function_of(module, node)
            if function is None or function.name.value == "__init__":
                continue
            if is_changed(module, node) and inside_model(plan, module, node):
                yield Obstacle(
                    module,
                    node,
                    "this buffer changes with the batches, and fully_shard leaves it to each "
                    "process",
                )


def is_changed(module: Module, node: cst.Attribute) -> bool:
    """Whether an attribute, or an item of it, is assigned or changed in place."""
    current: cst.CSTNode = node
    parent = module.source.parent(current)
    while isinstance(parent, cst.Subscript) and parent.value is current:
        current, parent = parent, module.source.parent(parent)
    if isinstance(parent, cst.Attribute) and parent.value is current:
        outer = module.source.parent(parent)
        called = isinstance(outer, cst.Call) and outer.func is parent
        return called and parent.attr.value.endswith("_")
    if isinstance(parent, cst.AssignTarget):
        return True
    return isinstance(parent, (cst.AugAssign, cst.AnnAssign)) and parent.target is current


def of_its_optimizers(plan: Plan, model: Model, wrap: Wrap) -> Iterator[Obstacle]:
    """Optimizers that come too early, or that do not work on shards."""
    for optimizer in model.optimizers:
        event = optimizer.event
        if event.order < wrap.order:
            yield Obstacle(
                event.module,
                event.node,
                "this optimizer is made before the model is ready, and would go on with the "
                "parameters that the model has until it is sharded",
                "make the optimizer after the model is loaded and frozen",
            )
        names = {name.rpartition(".")[2] for name in called_names(optimizer.value)}
        if not names or not names <= ELEMENTWISE or isinstance(optimizer.value, Instance):
            yield Obstacle(
                event.module,
                event.node,
                "it is not certain that this optimizer updates each element by itself, as it must "
                "where every process has a part of each parameter",
            )


def of_its_calls(plan: Plan, model: Model, wrap: Wrap) -> Iterator[Obstacle]:
    """Calls that are given the model, or compile anything."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        if event.detached or id(event.node) in seen:
            continue
        found = call_obstacle(plan, model, wrap, event)
        if found is not None:
            seen.add(id(event.node))
            yield found


def call_obstacle(plan: Plan, model: Model, wrap: Wrap, event: Event) -> Obstacle | None:
    """What is wrong with one call."""
    for callee in event.callee:
        name = callee.name if isinstance(callee, (External, Opaque)) else ""
        if isinstance(callee, External) and name == "torch.amp.GradScaler":
            why = "a GradScaler looks for overflows in the gradients of its own process alone"
            return Obstacle(event.module, event.node, why, "use bfloat16, or --strategy ddp")
        if isinstance(callee, External) and name.startswith(COMPILING):
            return Obstacle(event.module, event.node, f"'{name}' is not known to work on shards")
        if event.order < wrap.order:
            continue
        if not inside_module(event.stack, plan.table) and passes_by(plan, model, callee):
            return Obstacle(
                event.module,
                event.node,
                "this uses the model other than by calling it, but its parameters are whole only "
                "while it is called",
                "call the model itself, or use --strategy ddp",
            )
        if isinstance(callee, External) and name not in HARMLESS:
            given = (value for argument in event.arguments.items for value in argument.values)
            if any(origin(value) is model.value for value in given):
                return Obstacle(
                    event.module, event.node, f"'{name}' is given a model that is sharded by then"
                )
    return None


def passes_by(plan: Plan, model: Model, callee: Value) -> bool:
    """Whether a call is of a part of the model, or of a method that may use its parameters."""
    if isinstance(callee, BoundMethod):
        dispatched = plan.table.dialect.dispatched
        return belongs(plan, model, callee.receiver) and callee.function.name not in dispatched
    if isinstance(callee, Opaque) and callee.kind == "attribute" and len(callee.operands) == 1:
        if any(belongs(plan, model, value) for value in callee.operands[0]):
            return callee.name not in HARMLESS_METHODS
    return belongs(plan, model, callee) and origin(callee) is not model.value


def belongs(plan: Plan, model: Model, value: Value) -> bool:
    """Whether a value is the model, or a part of it that the script can name."""
    found = origin(value)
    if found is model.value or id(found) in parts_of(plan, model):
        return True
    return top_module(found, plan.table) is model.value


def of_its_parameters(plan: Plan, model: Model, wrap: Wrap) -> Iterator[Obstacle]:
    """Places that look at parameters or gradients one by one."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            if node.attr.value == "grad" and not module_of_functions(plan, node):
                yield Obstacle(
                    module, node, "gradients are looked at, of which each process has a part"
                )
            elif node.attr.value in ("weight", "bias") and not inside_model(plan, module, node):
                values = plan.facts.values_of(node.value)
                if any(belongs(plan, model, value) for value in values):
                    yield Obstacle(
                        module, node, "a parameter is looked at, of which each process has a part"
                    )
    seen: set[int] = set()
    for event in plan.facts.calls:
        if event.detached or id(event.node) in seen or not asks_for_parameters(plan, model, event):
            continue
        if inside_model(plan, event.module, event.node):
            continue
        if not harmless_use(plan, event, wrap):
            seen.add(id(event.node))
            yield Obstacle(
                event.module,
                event.node,
                "parameters are looked at one by one, or kept from before the model is sharded",
                "give model.parameters() to the optimizer and to clip_grad_norm_ directly",
            )


def module_of_functions(plan: Plan, node: cst.Attribute) -> bool:
    """Whether an attribute is a function of a library, such as ``torch.autograd.grad``."""
    return any(isinstance(value, External) for value in plan.facts.values_of(node))


def inside_model(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is in the body of a model's class."""
    classes = {
        id(model.value.cls.node) for model in plan.models if isinstance(model.value, Instance)
    }
    for value in plan.facts.values.values():
        for each in value:
            if isinstance(each, Instance) and is_instance_of(each, plan.table.module_bases):
                classes.add(id(each.cls.node))
    return any(id(parent) in classes for parent in module.source.parents(node))


def asks_for_parameters(plan: Plan, model: Model, event: Event) -> bool:
    """Whether a call gives parameters of the model."""
    return any(
        isinstance(callee, Opaque)
        and callee.name in plan.table.parameter_methods
        and any(part_of(plan, value, model) for value in callee.operands[0])
        for callee in event.callee
    )


def harmless_use(plan: Plan, event: Event, wrap: Wrap) -> bool:
    """Whether parameters go straight to an optimizer, are clipped, counted, or frozen."""
    source = event.module.source
    for parent in source.parents(event.node):
        if isinstance(parent, cst.Call) and parent is not event.node:
            names = {v.name for v in plan.facts.values_of(parent.func) if isinstance(v, External)}
            if any(optimizer.event.node is parent for optimizer in plan.optimizers):
                return event.order >= wrap.order
            if names & CLIPPING:
                return event.order >= wrap.order
            if names == {"builtins.next"}:
                outer = source.parent(parent)
                words = ("device", "dtype", "is_cuda")
                return isinstance(outer, cst.Attribute) and outer.attr.value in words
        if isinstance(parent, (cst.GeneratorExp, cst.ListComp)):
            return source.code(parent.elt).endswith((".numel()", ".requires_grad"))
        if isinstance(parent, cst.For):
            return only_switches(parent) and event.order < wrap.order
        if isinstance(parent, cst.BaseSmallStatement):
            return False
    return False


def only_switches(loop: cst.For) -> bool:
    """Whether a loop only sets ``requires_grad``."""
    lines = loop.body.body
    return all(
        isinstance(line, cst.SimpleStatementLine)
        and all(
            isinstance(small, cst.Assign)
            and all(
                isinstance(target.target, cst.Attribute)
                and target.target.attr.value == "requires_grad"
                for target in small.targets
            )
            for small in line.body
        )
        for line in lines
    )
