"""Give each process a GPU of its own.

What:
    Under a launcher the set-up function chooses this process's GPU, which ``"cuda"`` and
    ``.cuda()`` then mean. Wherever the script names a GPU by its number, or lets its user do so,
    the number is dropped under a launcher: ``own_device(...)`` gives back this process's GPU there
    and what it was given otherwise. ``torch.cuda.set_device`` and ``CUDA_VISIBLE_DEVICES`` are left
    to the launcher, and ``torch.load`` puts what was saved from a GPU onto this process's.

Why:
    With a fixed number all processes of a node share one GPU: NCCL refuses that, and the memory of
    one GPU must hold all of them. The same happens where a checkpoint is loaded onto the GPU that
    it was saved from.

Before:
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

After:
    device = own_device(torch.device("cuda:0" if torch.cuda.is_available() else "cpu"))

Refuses when:
    the script names several GPUs, so that one model is spread over them; something is moved to a
    GPU where the process does not have its own yet.

Source:
    https://pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code,
    https://pytorch.org/docs/stable/generated/torch.load.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Function,
    Opaque,
    Unknown,
    Values,
    only_constant,
)
from transpile.finding import Level
from transpile.layout import add_argument, guard, wrap_expression
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.places import ancestors, calls_of, function_of, statement_of
from transpile.plan.start import find_start
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch._devices import (
    chooses_by_process,
    comes_from_outside,
    follows_rank,
    is_device_object,
    is_parameter,
    literal_numbers,
    names_numbered_gpu,
    uses_cuda,
)

CODES = {
    "PT801": "a GPU is named by its number",
    "PT802": "several GPUs are named",
    "PT803": "the script itself chooses which GPUs it sees",
    "PT804": "a checkpoint would be loaded onto the GPU it was saved from",
    "PT805": "GPUs are counted",
    "PT806": "worker processes may be forked after CUDA was initialised",
    "PT807": "something is on a GPU before the process has its own",
    "PT808": "each process has its own workers",
}
MOVING = frozenset({"to", "cuda"})
#: Calls outside of the project whose result is on the device that they are given.
PLACING = ("torch.", "torchvision.", "numpy.")
#: Looking at a device's name is not using it.
LOOKING = frozenset({"startswith", "endswith", "split", "find", "count", "add_argument"})
LAUNCHED = '"RANK" not in {os}.environ'

Kind = Literal["device", "guard", "location", "location on CPU"]


@dataclass(frozen=True, eq=False)
class Place:
    """What is to be changed.

    Args:
        kind: an expression to put into ``own_device``, a statement to guard, or a call of
            ``torch.load`` to give a location.
        module: where it is.
        node: the expression, statement or call.
    """

    kind: Kind
    module: Module
    node: cst.CSTNode


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that names a GPU or loads from one."""
    named = [(module, node) for module, node in numbered(plan)]
    yield from several(plan, named)
    yield from too_early(plan)
    done: set[int] = set()
    for module, node in [*named, *made_devices(plan), *positions(plan)]:
        if id(node) in done or any(id(outer) in done for outer in ancestors(module, node)):
            continue
        done.add(id(node))
        if confined(plan, module, node):
            yield already(module, node)
        else:
            yield apply("device", module, node, "each process uses its own GPU here")
    yield from selections(plan)
    yield from loads(plan)
    yield from remarks(plan)


def apply(kind: Kind, module: Module, node: cst.CSTNode, why: str) -> Ruling:
    """The answer for something to change."""
    code = {"device": "PT801", "guard": "PT803"}.get(kind, "PT804")
    return Ruling(code, Verdict.APPLY, module, node, why, data=Place(kind, module, node))


def already(module: Module, node: cst.CSTNode) -> Ruling:
    """The answer for what follows the process already."""
    return Ruling(
        "PT801", Verdict.ALREADY_DONE, module, node, "the device follows from the process"
    )


# Where GPUs are named.


def numbered(plan: Plan) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The widest expressions that spell a GPU with its number."""
    seen: set[int] = set()
    for module in plan.facts.modules.values():
        if "cuda:" not in module.source.text:
            continue
        for node in module.source.nodes:
            if not names_numbered_gpu(node) or not plan.facts.values_of(node):
                continue
            widest = widen(plan, module, node)
            if widest is not None and id(widest) not in seen:
                seen.add(id(widest))
                yield module, widest


def widen(plan: Plan, module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The whole device expression around a name; None where the name is only looked at."""
    current = node
    while True:
        parent = module.source.parent(current)
        if isinstance(parent, cst.IfExp) and current is not parent.test:
            current = parent
        elif isinstance(parent, cst.BooleanOperation):
            current = parent
        elif isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
            return current if compared_with_own(plan, module, current) else None
        elif isinstance(parent, cst.DictElement) and current is parent.key:
            return None
        elif isinstance(parent, cst.Attribute):
            return None
        elif isinstance(parent, cst.Arg):
            call = module.source.parent(parent)
            if not isinstance(call, cst.Call):
                return current
            if called(plan, call, "torch.device"):
                current = call
                continue
            name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
            if name in LOOKING:
                return None
            return current
        else:
            return current


def compared_with_own(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a name is compared with a device of the script, which loses its number, too."""
    comparison = next(
        outer for outer in module.source.parents(node) if isinstance(outer, cst.Comparison)
    )
    if len(comparison.comparisons) != 1:
        return False
    target = comparison.comparisons[0]
    other = target.comparator if node is comparison.left else comparison.left
    return isinstance(target.operator, (cst.Equal, cst.NotEqual)) and any(
        isinstance(value, Constant) and isinstance(value.value, str) and ":" in value.value
        for value in plan.facts.values_of(other)
    )


def called(plan: Plan, call: cst.Call, name: str) -> bool:
    """Whether an expression calls something by its dotted name."""
    return External(name) in plan.facts.values_of(call.func)


def made_devices(plan: Plan) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The calls of ``torch.device`` that may be given a number."""
    for event in calls(plan):
        if External("torch.device") not in event.callee or not reached(event):
            continue
        index = event.arguments.get("index", 1)
        given = event.arguments.get("device", 0) or event.arguments.get("type", 0)
        if index is not None and not is_none(index.values):
            yield event.module, event.node
        elif given is not None and may_be_numbered(given.values):
            yield event.module, event.node


def positions(plan: Plan) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The arguments in the place of a device that may name a GPU by its number."""
    for event in calls(plan):
        if not reached(event):
            continue
        for argument in device_arguments(event):
            node = argument.node
            if node is None or not stands_in(event.module, node):
                continue
            if any(is_device_object(value) for value in argument.values):
                continue
            if event.detached and any(is_parameter(value) for value in argument.values):
                continue
            if may_be_numbered(argument.values, literal_strings=False):
                yield from reads(plan, event.module, node, argument.values)


def reads(
    plan: Plan, module: Module, node: cst.CSTNode, values: Values
) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where the script takes over what its user chose; the place of use where that is nowhere.

    A number of a GPU means something only once the process has its own: it is followed where it
    is used.
    """
    found: list[tuple[Module, cst.CSTNode]] = []
    chosen = [v for v in values if isinstance(v, Opaque) and v.kind == "attribute"]
    if isinstance(node, cst.Name) and len(chosen) == len(values) and not takes_number(module, node):
        for other in plan.facts.modules.values():
            for place in other.source.nodes:
                if (
                    isinstance(place, cst.Attribute)
                    and any(place.attr.value == value.name for value in chosen)
                    and any(v is value for v in plan.facts.values_of(place) for value in chosen)
                    and isinstance(other.source.parent(place), (cst.Assign, cst.AnnAssign))
                ):
                    found.append((other, place))
    yield from found or [(module, node)]


def takes_number(module: Module, node: cst.CSTNode) -> bool:
    """Whether an argument is that of ``.cuda``, which is mostly given a mere number."""
    call = module.source.parent(module.source.parents(node).__next__())
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "cuda"
    )


def device_arguments(event: Event) -> Iterator[Argument]:
    """The arguments of a call that say on which device something is to be."""
    arguments = event.arguments
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in MOVING:
            found = arguments.get("device", 0)
            if found is not None:
                yield found
            return
        if isinstance(callee, External):
            if callee.name == "torch.cuda.device":
                found = arguments.get("device", 0)
            elif callee.name == "torch.device" or callee.name == "torch.cuda.set_device":
                return
            elif callee.name.startswith(PLACING):
                found = arguments.keyword("device") or arguments.keyword("map_location")
            else:
                return
            if found is not None:
                yield found
            return


def may_be_numbered(values: Values, literal_strings: bool = True) -> bool:
    """Whether values in the place of a device may be a GPU with its number."""
    for value in values:
        if isinstance(value, Constant):
            if isinstance(value.value, int) and not isinstance(value.value, bool):
                return True
            if literal_strings and isinstance(value.value, str) and ":" in value.value:
                return True
        elif isinstance(value, Unknown) or comes_from_outside(value):
            return True
        elif literal_strings and isinstance(value, Opaque) and value.kind == "operation":
            return True
    return False


def confined(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a device follows from the process already."""
    if follows_rank(plan.facts.values_of(node)):
        return True
    for outer in module.source.parents(node):
        if isinstance(outer, cst.Call):
            for callee in plan.facts.values_of(outer.func):
                if isinstance(callee, Function) and chooses_by_process(plan, callee):
                    return True
        if isinstance(outer, (cst.BaseCompoundStatement, cst.SimpleStatementLine)):
            break
    return False


def several(plan: Plan, named: list[tuple[Module, cst.CSTNode]]) -> Iterator[Answer]:
    """The refusal of a script that spreads its work over several GPUs."""
    numbers: dict[int, tuple[Module, cst.CSTNode]] = {}
    for module, node in named:
        if in_location(plan, module, node):
            continue
        found = set(literal_numbers(node))
        if len(found) == 1:
            numbers.setdefault(found.pop(), (module, node))
    for event in calls(plan):
        if not reached(event):
            continue
        for argument in device_arguments(event):
            constant = only_constant(argument.values)
            if constant is not None and type(constant.value) is int and argument.node:
                numbers.setdefault(constant.value, (event.module, argument.node))
    if len(numbers) < 2:
        return
    module, node = numbers[sorted(numbers)[1]]
    yield Ruling(
        "PT802",
        Verdict.REFUSE,
        module,
        node,
        f"the script uses the GPUs {', '.join(map(str, sorted(numbers)))} by their numbers: its "
        "model is spread over them, and each process would have to have as many",
        "put the whole model onto one GPU, or spread it with a pipeline or tensor parallel library",
    )


def in_location(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether an expression is part of what ``torch.load`` is told about places."""
    return any(
        isinstance(outer, cst.Call) and called(plan, outer, "torch.load")
        for outer in module.source.parents(node)
    )


def too_early(plan: Plan) -> Iterator[Answer]:
    """The refusal of what is moved to a GPU before the set-up function chooses it."""
    start = find_start(plan)
    if start is None or start.function is None:
        return
    inside = [
        event.order
        for event in plan.facts.events
        if not event.detached
        and any(frame.function.node is start.function for frame in calls_of(event.stack))
    ]
    entered = min(inside, default=0)
    for event in calls(plan):
        if event.detached or event.order >= entered or not moves_to_gpu(event):
            continue
        yield Ruling(
            "PT807",
            Verdict.REFUSE,
            event.module,
            event.node,
            f"this is moved to a GPU before '{start.function.name.value}' is called, in which each "
            "process gets its own: all processes would put it onto the first",
            f"move it to the GPU in '{start.function.name.value}'",
        )
        return


def moves_to_gpu(event: Event) -> bool:
    """Whether a call may put something onto a GPU."""
    for callee in event.callee:
        if not isinstance(callee, Opaque) or callee.kind != "attribute":
            continue
        if callee.name == "cuda":
            return True
        given = event.arguments.get("device", 0)
        if callee.name == "to" and given is not None:
            return any(
                isinstance(value, Constant)
                and isinstance(value.value, str)
                and value.value.startswith("cuda")
                for value in walk_back(given.values)
            )
    return False


# Which GPU is the current one, and which are seen.


def selections(plan: Plan) -> Iterator[Answer]:
    """Statements that choose GPUs for the whole process."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if not reached(event) or id(event.node) in seen:
            continue
        values = chosen(event)
        if values is None:
            continue
        seen.add(id(event.node))
        statement = statement_of(event.module, event.node)
        if follows_rank(values) or behind_launcher_test(plan, event.module, event.node):
            yield already(event.module, event.node)
        elif isinstance(statement, cst.SimpleStatementLine):
            small = smallest(event.module, event.node)
            yield apply("guard", event.module, small, "the launcher chooses the GPU")
            if sees_fewer(event):
                yield Remark(
                    "PT803",
                    Level.NOTE,
                    event.module,
                    event.node,
                    "the GPUs that the script lets itself see are taken only without a launcher",
                    "set CUDA_VISIBLE_DEVICES for the launcher where not all GPUs are to be used",
                )


def chosen(event: Event) -> Values | None:
    """What an event makes the current or the visible GPUs; None where it does not."""
    if event.kind == "call":
        names = {callee.name for callee in event.callee if isinstance(callee, External)}
        if "torch.cuda.set_device" in names or "torch.accelerator.set_device_index" in names:
            return tuple(v for item in event.arguments.items for v in item.values)
    if sees_fewer(event):
        return event.result if event.kind == "store" else ()
    return None


def sees_fewer(event: Event) -> bool:
    """Whether an event sets which GPUs this process sees."""
    if event.kind == "store" and isinstance(event.node, cst.Subscript):
        index = event.node.slice[0].slice if len(event.node.slice) == 1 else None
        return (
            External("os.environ") in event.callee
            and isinstance(index, cst.Index)
            and is_visible_devices(index.value)
        )
    if event.kind != "call" or not isinstance(event.node, cst.Call) or not event.node.args:
        return False
    return is_visible_devices(event.node.args[0].value) and any(
        isinstance(c, External) and c.name in ("os.environ.setdefault", "os.putenv")
        for c in event.callee
    )


def is_visible_devices(node: cst.CSTNode) -> bool:
    """Whether an expression is the name of the variable that hides GPUs."""
    return isinstance(node, cst.SimpleString) and node.evaluated_value == "CUDA_VISIBLE_DEVICES"


def behind_launcher_test(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is on one arm of a test for the launcher or the number of processes."""
    for outer in module.source.parents(node):
        if isinstance(outer, cst.If) and (
            follows_rank(plan.facts.values_of(outer.test))
            or any(
                isinstance(value, Constant) and value.value == "RANK"
                for child in module_children(outer.test)
                for value in plan.facts.values_of(child)
            )
        ):
            return True
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return False
    return False


def module_children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything in it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(current.children)


def smallest(module: Module, node: cst.CSTNode) -> cst.CSTNode:
    """The small statement that a node is part of."""
    return next(
        outer for outer in ancestors(module, node) if isinstance(outer, cst.BaseSmallStatement)
    )


# Loading.


def loads(plan: Plan) -> Iterator[Answer]:
    """Checkpoints that would go to the GPU that they were saved from."""
    found = [e for e in calls(plan) if External("torch.load") in e.callee and reached(e)]
    if not found or not (uses_cuda(plan) or [*made_devices(plan), *positions(plan)]):
        return
    seen: set[int] = set()
    for event in found:
        node = event.node
        if id(node) in seen or not isinstance(node, cst.Call):
            continue
        seen.add(id(node))
        location = event.arguments.get("map_location", 1)
        if location is None and event.arguments.unknown_because:
            yield Remark(
                "PT804",
                Level.WARNING,
                event.module,
                node,
                "it is not known where this checkpoint is loaded to",
                "give torch.load a map_location that is this process's own GPU, or 'cpu'",
            )
        elif location is None:
            kind: Kind = "location"
            if only_fills_models(event.module, node):
                kind = "location on CPU"
            yield apply(kind, event.module, node, "loaded onto this process's GPU")
        elif all(isinstance(v, Function) for v in location.values) and any(
            chooses_by_process(plan, v) for v in location.values if isinstance(v, Function)
        ):
            yield Ruling(
                "PT804",
                Verdict.ALREADY_DONE,
                event.module,
                node,
                "the checkpoint is loaded onto this process's GPU",
            )


def only_fills_models(module: Module, node: cst.Call) -> bool:
    """Whether what is loaded goes straight into ``load_state_dict``, which copies it."""
    parent = module.source.parent(node)
    if isinstance(parent, cst.Arg):
        return fills(module, parent)
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0].target
    if not isinstance(target, cst.Name):
        return False
    owner: cst.CSTNode = function_of(module, node) or module.source.tree
    used = [
        other
        for other in module_children(owner)
        if isinstance(other, cst.Name) and other.value == target.value and other is not target
    ]
    return bool(used) and all(
        any(isinstance(outer, cst.Arg) and fills(module, outer) for outer in expression(module, n))
        for n in used
    )


def expression(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a name stands in, as long as it is items of it that are taken."""
    for outer in module.source.parents(node):
        yield outer
        if not isinstance(outer, (cst.Subscript, cst.Arg)):
            return


def fills(module: Module, argument: cst.Arg) -> bool:
    """Whether an argument is the first of ``load_state_dict``."""
    call = module.source.parent(argument)
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "load_state_dict"
        and call.args[0] is argument
    )


# What is only said.


def remarks(plan: Plan) -> Iterator[Answer]:
    """Counts of GPUs that training follows, and worker processes."""
    yield from counted(plan)
    yield from workers(plan)


def counted(plan: Plan) -> Iterator[Answer]:
    """A warning for each count of GPUs that shapes the training."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    seen: set[int] = set()
    sizes: list[Values] = [losses]
    for loader in plan.training_loaders:
        for name in ("batch_size", "num_workers"):
            argument = loader.argument(name)
            if argument is not None:
                sizes.append(argument.values)
    for optimizer in plan.optimizers:
        sizes.extend(item.values for item in optimizer.event.arguments.items)
    for values in sizes:
        for value in walk_back(values):
            if not isinstance(value, Opaque) or id(value.node) in seen:
                continue
            if External("torch.cuda.device_count") not in value.callee:
                continue
            seen.add(id(value.node))
            yield Remark(
                "PT805",
                Level.WARNING,
                value.module,
                value.node,
                "what is computed from the number of GPUs here was meant for one process that "
                "uses all of them; now each process uses one",
                "use 1 instead, or the number of processes where all together are meant",
            )


def workers(plan: Plan) -> Iterator[Answer]:
    """A note on the workers of each process, a warning on those that inherit a CUDA context."""
    seen: set[int] = set()
    for loader in plan.training_loaders:
        argument = loader.argument("num_workers")
        constant = only_constant(argument.values) if argument is not None else None
        if argument is None or (constant is not None and not constant.value):
            continue
        if id(loader.node) not in seen:
            seen.add(id(loader.node))
            yield Remark(
                "PT808",
                Level.NOTE,
                loader.event.module,
                loader.node,
                "each process starts this many workers of its own",
                "divide num_workers by the processes of a node where its CPUs do not suffice",
            )
    for event in calls(plan):
        if not any(
            isinstance(c, External)
            and c.name in ("torch.multiprocessing.spawn", "torch.multiprocessing.set_start_method",
                           "multiprocessing.set_start_method")
            for c in event.callee
        ):  # fmt: skip
            continue
        method = event.arguments.get("method", 0)
        if method is not None and method.values == (Constant("fork"),):
            yield Remark(
                "PT806",
                Level.WARNING,
                event.module,
                event.node,
                "worker processes are forked: CUDA is initialised before, when the process joins "
                "the group, and cannot be used in them",
                "use the start method 'spawn' or 'forkserver' where workers use the GPU",
            )


# Edits.


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The wrapped expression, the guarded statement, or the location to load to."""
    place: Place = ruling.data
    source = place.module.source
    if place.kind == "device":
        yield Helper("own_device")
        own = plan.names.fresh("own_device")
        assert isinstance(place.node, cst.BaseExpression)
        changes = wrap_expression(source, place.node, f"{own}(", ")")
    elif place.kind == "guard":
        os = plan.names.imported("os", "os")
        assert isinstance(place.node, cst.BaseSmallStatement)
        changes = guard(source, place.node, place.node, f"if {LAUNCHED.format(os=os)}:")
    else:
        assert isinstance(place.node, cst.Call)
        location = '"cpu"'
        if place.kind == "location":
            yield Helper("own_location")
            location = plan.names.fresh("own_location")
        changes = add_argument(source, place.node, f"map_location={location}")
    for edit in changes:
        yield In(place.module, edit)


# Small questions.


def calls(plan: Plan) -> Iterator[Event]:
    """The calls of the run."""
    return (event for event in plan.facts.events if event.kind == "call")


def reached(event: Event) -> bool:
    """Whether the run reaches an event; in the script itself, what nothing calls counts, too."""
    return not event.detached or event.module.is_entry


def is_none(values: Values) -> bool:
    """Whether values are certainly None."""
    return values == (Constant(None),)


def stands_in(module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is part of a module's text."""
    try:
        module.source.span(node)
    except KeyError:
        return False
    return True
