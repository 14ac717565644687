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
from typing import Literal

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Function, Opaque, Values, only_constant
from transpile.layout import add_argument, guard, wrap_expression
from transpile.plan.data.batch_size.given import loader_workers
from transpile.plan.flow.places import ancestors, calls_of, insertion_place
from transpile.plan.flow.start import find_start
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.second_passes import excluded
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.devices._checkpoints import only_fills_models
from transpile.rules.pytorch.devices._devices import (
    chooses_by_process,
    follows_rank,
    literal_numbers,
    uses_cuda,
)
from transpile.rules.pytorch.devices._gpu_names import (
    confined,
    device_arguments,
    in_location,
    made_devices,
    numbered,
    positions,
    reached,
)
from transpile.rules.pytorch.devices._gpu_selection import (
    behind_launcher_test,
    chosen,
    sees_fewer,
    smallest,
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
    places = [*named, *made_devices(plan), *positions(plan)]
    whole = {id(node) for _, node in places}
    for module, node in places:
        if id(node) in done or any(
            id(outer) in whole and outer is not node for outer in ancestors(module, node)
        ):
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
    return Ruling.apply(code, (module, node), why, data=Place(kind, module, node))


def already(module: Module, node: cst.CSTNode) -> Ruling:
    """The answer for what follows the process already."""
    return Ruling.done("PT801", (module, node), "the device follows from the process")


# Too many GPUs, or too early.


def several(plan: Plan, named: list[tuple[Module, cst.CSTNode]]) -> Iterator[Answer]:
    """The refusal of a script that spreads its work over several GPUs."""
    numbers: dict[int, tuple[Module, cst.CSTNode]] = {}
    for module, node in named:
        if in_location(plan, module, node):
            continue
        found = set(literal_numbers(node))
        if len(found) == 1:
            numbers.setdefault(found.pop(), (module, node))
    for event in plan.facts.calls:
        if not reached(event):
            continue
        for argument in device_arguments(event):
            constant = only_constant(argument.values)
            if constant is not None and type(constant.value) is int and argument.node:
                numbers.setdefault(constant.value, (event.module, argument.node))
    if len(numbers) < 2:
        return
    module, node = numbers[sorted(numbers)[1]]
    yield Ruling.refuse(
        "PT802",
        (module, node),
        f"the script uses the GPUs {', '.join(map(str, sorted(numbers)))} by their numbers: its "
        "model is spread over them, and each process would have to have as many",
        "put the whole model onto one GPU, or spread it with a pipeline or tensor parallel library",
    )


def too_early(plan: Plan) -> Iterator[Answer]:
    """The refusal of what is moved to a GPU before the set-up function chooses it."""
    start = find_start(plan)
    if start is None or start.function is None:
        return
    inside = (
        event
        for event in plan.facts.events
        if not event.detached
        and any(frame.function.node is start.function for frame in calls_of(event.stack))
    )
    entered = next(inside, None)
    for event in plan.facts.calls:
        if entered is None or event.order >= entered.order:
            break
        if event.detached or not moves_to_gpu(event) or excluded(event.stack, entered.stack):
            continue
        yield Ruling.refuse(
            "PT807",
            event,
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
        statement = insertion_place(event.module, event.node)
        if follows_rank(values) or behind_launcher_test(plan, event.module, event.node):
            yield already(event.module, event.node)
        elif isinstance(statement, (cst.SimpleStatementLine, cst.BaseSmallStatement)):
            small = smallest(event.module, event.node)
            yield apply("guard", event.module, small, "the launcher chooses the GPU")
            if sees_fewer(event):
                yield Remark.note(
                    "PT803",
                    event,
                    "the GPUs that the script lets itself see are taken only without a launcher",
                    "set CUDA_VISIBLE_DEVICES for the launcher where not all GPUs are to be used",
                )


# Loading.


def loads(plan: Plan) -> Iterator[Answer]:
    """Checkpoints that would go to the GPU that they were saved from."""
    found = [e for e in plan.facts.calls if External("torch.load") in e.callee and reached(e)]
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
            yield Remark.warn(
                "PT804",
                (event.module, node),
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
            yield Ruling.done(
                "PT804", (event.module, node), "the checkpoint is loaded onto this process's GPU"
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
            yield Remark.warn(
                "PT805",
                value,
                "what is computed from the number of GPUs here was meant for one process that "
                "uses all of them; now each process uses one",
                "use 1 instead, or the number of processes where all together are meant",
            )


def workers(plan: Plan) -> Iterator[Answer]:
    """A note on the workers of each process, a warning on those that inherit a CUDA context."""
    seen: set[int] = set()
    known = loader_workers(plan)
    many = "this many workers"
    if known is not None:
        many = f"{known.value} worker{'s' if known.value > 1 else ''}"
    by_default = f", the default of {known.options[-1]}" if known and known.options else ""
    for loader in plan.training_loaders:
        argument = loader.argument("num_workers")
        constant = only_constant(argument.values) if argument is not None else None
        if argument is None or (constant is not None and not constant.value):
            continue
        if id(loader.node) not in seen:
            seen.add(id(loader.node))
            yield Remark.note(
                "PT808",
                (loader.event.module, loader.node),
                f"each process starts {many} of its own{by_default}",
                "divide num_workers by the processes of a node where its CPUs do not suffice",
            )
    for event in plan.facts.calls:
        if not any(
            isinstance(c, External)
            and c.name in ("torch.multiprocessing.spawn", "torch.multiprocessing.set_start_method",
                           "multiprocessing.set_start_method")
            for c in event.callee
        ):  # fmt: skip
            continue
        method = event.arguments.get("method", 0)
        if method is not None and method.values == (Constant("fork"),):
            yield Remark.warn(
                "PT806",
                event,
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
        yield Helper("own_device", place.module)
        own = plan.names_in(place.module).fresh("own_device")
        assert isinstance(place.node, cst.BaseExpression)
        changes = wrap_expression(source, place.node, f"{own}(", ")")
    elif place.kind == "guard":
        os = plan.names_in(place.module).imported("os", "os")
        assert isinstance(place.node, cst.BaseSmallStatement)
        changes = guard(source, place.node, place.node, f"if {LAUNCHED.format(os=os)}:")
    else:
        assert isinstance(place.node, cst.Call)
        location = '"cpu"'
        if place.kind == "location":
            yield Helper("own_location", place.module)
            location = plan.names_in(place.module).fresh("own_location")
        changes = add_argument(source, place.node, f"map_location={location}")
    for edit in changes:
        yield In(place.module, edit)
