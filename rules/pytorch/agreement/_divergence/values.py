"""How values may differ by what they were computed from."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Value,
    Values,
    only_constant,
)
from transpile.plan.data.streams import behind_share
from transpile.plan.flow.conditions import controls_of
from transpile.plan.graph import called_names, is_instance_of, method_calls, origin, parents
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, analysis
from transpile.quantity.contents import COUNTED
from transpile.quantity.operations import NEUTRAL_ATTRIBUTES
from transpile.rules.pytorch.agreement._steps import schedules
from transpile.rules.pytorch.agreement._together import agreed_values
from transpile.rules.pytorch.devices._model_places import model_place
from transpile.rules.pytorch.effects._written_paths import writes_into
from transpile.rules.pytorch.randomness._private_chance import differs

from .causes import Cause, Look
from .extents import behind_extent
from .fed import fed_values
from .keys import keys_asked
from .on_gpus import OnGpus, is_number_of_gpu
from .reduced import Reduced

CLOCKS = (
    "time.", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
    "timeit.default_timer",
)  # fmt: skip
MACHINE = (
    "psutil.", "torch.cuda.mem", "torch.cuda.max_mem", "resource.", "GPUtil.", "os.getpid",
    "socket.", "platform.node", "os.uname", "os.cpu_count", "multiprocessing.cpu_count",
    "torch.cuda.get_device_properties", "shutil.disk_usage", "torch.cuda.utilization",
    "torch.cuda.temperature", "torch.cuda.power_draw", "torch.accelerator.mem",
    "torch.accelerator.max_mem",
)  # fmt: skip
RANDOM = (
    "random.", "numpy.random.", "torch.rand", "torch.bernoulli", "torch.multinomial",
    "torch.normal", "uuid.uuid4", "os.urandom", "secrets.",
)  # fmt: skip
NOT_DRAWN = (".seed", "manual_seed", "default_rng", "RandomState", "Generator", "_state")
CHECKS = frozenset(
    {
        "os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getsize",
        "os.path.getmtime", "os.listdir", "os.scandir", "glob.glob", "glob.iglob", "os.access",
    }
)  # fmt: skip
CHECK_METHODS = frozenset({"exists", "is_file", "is_dir", "stat", "glob", "rglob", "iterdir"})
#: Methods of models that compute nothing.
HANDING_OUT = frozenset(
    {
        "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children",
        "modules", "named_modules", "state_dict", "load_state_dict", "get_parameter",
        "register_buffer", "get_submodule", "train", "eval", "zero_grad", "update",
        "update_parameters", "apply", "to", "cuda", "cpu", "half", "float", "double", "bfloat16",
        "share_memory", "requires_grad_", "copy_to", "store", "restore", "step",
    }
)  # fmt: skip
#: Methods of a GPU's events and streams that tell how far it has come.
PROGRESS = frozenset({"elapsed_time", "query"})
#: What gives the same answer for every process's part of the batch.
SIZES = frozenset(
    {
        "len", "dim", "numel", "ndimension", "isinstance", "hasattr", "callable", "is_tensor",
        "is_floating_point",
    }
)  # fmt: skip


class ValueDifferences:
    """Answers why values of a plan may differ between processes, whatever branch set them.

    Args:
        plan: the plan.
        varied_from: position of the first event at which random numbers differ.
        happening: the events at each node, by its identity.
        reduced: what becomes that of the global batch.
    """

    def __init__(
        self, plan: Plan, varied_from: int, happening: dict[int, list[Event]], reduced: Reduced
    ) -> None:
        self.plan = plan
        self.varied_from = varied_from
        self.happening = happening
        self.reduced = reduced
        self.equal = agreed_values(plan)
        self.training = {id(loader.value) for loader in plan.training_loaders}
        self.models = {id(model.value) for model in plan.models}
        self.on_gpus = OnGpus(self.models) if model_place(plan) != "cpu" else None
        self.optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
        self.fed = fed_values(plan)
        self.streams = {
            id(value)
            for backward in plan.backwards
            for cut in backward.cuts
            if cut.streams is not None
            for value in cut.values
        }

    def of(
        self, values: Values, strict: bool = False, counted: frozenset[int] = frozenset()
    ) -> Look:
        """Why values may differ by what they were computed from.

        Args:
            values: the values.
            strict: what is reduced elsewhere in the script is not reduced here.
            counted: changes of names in the call in which they are asked for: whoever asks has
                passed what ends that call.
        """
        found = Look()
        seen: set[int] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if id(value) in seen or id(value) in self.equal:
                continue
            seen.add(id(value))
            if not strict and id(value) in self.reduced.values:
                continue
            if not isinstance(value, Opaque):
                if not isinstance(value, (Instance, Constant, External)):
                    for group in parents(value):
                        pending.extend(group)
                    if self.plan.way != "calls" and self.is_filled_by_samples(value):
                        found.causes.add(Cause.BATCH)
                continue
            # An attribute is one value wherever it is read, of which one place may be reduced.
            if value.kind != "attribute" and id(value.node) in self.reduced.nodes:
                found.causes |= self.reduced.causes(value.node)
                continue
            if value.kind == "operation" and isinstance(value.node, cst.AugAssign):
                returns = id(value.node) not in counted
                for event in self.happening.get(id(value.node), ()):
                    found.tests.extend(controls_of(event, returns=returns))
            asked = keys_asked(self.plan, value)
            if asked is not None:
                sought, keys = asked
                found.tests.extend(keys.tests)
                pending.extend((*sought, *keys.values))
                continue
            own = self.own_cause(value)
            if own is not None:
                found.causes.add(own)
            if own in (None, Cause.RESULTS, Cause.NORM):
                pending.extend(self.behind(value))
        return found

    def own_cause(self, value: Opaque) -> Cause | None:
        """Why a value itself, whatever it is computed from, may differ."""
        whole = self.plan.way == "calls"
        if id(value) in self.plan.samples or self.is_filled_by_samples(value):
            return None if whole else Cause.BATCH
        if value.kind == "element":
            if any(self.is_training_data(source) for source in value.operands[0]):
                return None if whole else Cause.BATCH
            return None
        if self.on_gpus is not None:
            if self.on_gpus.adds_up(value):
                return Cause.NORM
            if is_number_of_gpu(value):
                return Cause.MACHINE
        if value.kind != "call":
            return None
        if differs(value):
            return Cause.RANDOM
        for name in called_names(value):
            if name.startswith(CLOCKS) and name != "time.sleep":
                return Cause.TIME
            if name.startswith(MACHINE):
                return Cause.MACHINE
            if name.startswith(RANDOM) and not any(word in name for word in NOT_DRAWN):
                return Cause.RANDOM if self.is_late(value) and not whole else None
            if name in CHECKS:
                written = self.is_written(value.arguments.items[:1])
                return Cause.FILES if written else Cause.PRESENCE
        for callee in value.callee:
            if self.computes(callee):
                return Cause.RESULTS
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in PROGRESS and any(
                    name.startswith("torch.")
                    for receiver in callee.operands[0]
                    for name in called_names(receiver)
                ):
                    return Cause.TIME
                if callee.name in CHECK_METHODS:
                    written = writes_into(self.plan, callee.operands[0])
                    return Cause.FILES if written else Cause.PRESENCE
        return None

    def is_filled_by_samples(self, value: Value) -> bool:
        """Whether the samples of this process decide what is where in a container."""
        found: bool = analysis(self.plan).of((value,)).reason.startswith(COUNTED)
        return found

    def computes(self, callee: Value) -> bool:
        """Whether calling a value computes with layers: a model, a copy or an average of one."""
        pending, seen = [callee], set()
        while pending:
            value = origin(pending.pop())
            if id(value) in seen:
                continue
            seen.add(id(value))
            if id(value) in self.models or is_layer(value, self.plan):
                return True
            if not isinstance(value, Opaque):
                continue
            if value.kind == "attribute":
                if value.name not in HANDING_OUT:
                    pending.extend(value.operands[0])
            elif value.kind == "call" and value.callee and not method_calls(value):
                for argument in value.arguments.items[:2]:
                    pending.extend(argument.values)
        return False

    def behind(self, value: Opaque) -> Iterator[Value]:
        """What a value was computed from, as far as it may pass differences on."""
        if value.kind == "operation" and value.name in SIZES and not self.counts_selected(value):
            return
        if value.kind == "call" and not self.counts_selected(value):
            if any(name.rpartition(".")[2] in SIZES for name in called_names(value)):
                return
            for callee in value.callee:
                if isinstance(callee, Opaque) and callee.kind == "attribute":
                    # Where calls are split, every process has whole batches, of one size.
                    equal_size = self.plan.way == "calls" or is_first(value)
                    if callee.name in SIZES or (callee.name == "size" and equal_size):
                        return
        if value.kind == "item" and is_shape(value) and only_constant(value.index) == Constant(0):
            if not self.counts_selected(value):
                return
        if value.kind == "attribute" and value.name in NEUTRAL_ATTRIBUTES:
            return
        if id(value) in self.models or id(value) in self.optimizers or self.is_extent(value):
            return
        if schedules(value, self.optimizers):
            return
        extent = behind_extent(value)
        if extent is not None:
            for told in extent:
                yield from told
            return
        equal = {id(each) for each in self.reduced_within(value)}
        for group in parents(value):
            yield from (each for each in group if id(each) not in equal)
        yield from self.fed.get(id(value), ())

    def counts_selected(self, value: Opaque) -> bool:
        """Whether a size is the number of the samples of this process that something picks."""
        found = analysis(self.plan).of((value,))
        return found.kind is Kind.PART or (found.kind is Kind.UNKNOWN and found.sampled)

    def is_extent(self, value: Opaque) -> bool:
        """Whether a value is a size of streams, of which each process has the same number."""
        owners: list[Value] = []
        for name, receiver in method_calls(value):
            owners.extend(receiver if name == "size" else ())
        if value.kind == "attribute" and value.name == "shape":
            owners.extend(value.operands[0])
        return bool(owners) and all(
            id(behind_share(self.plan, owner)) in self.streams for owner in owners
        )

    def reduced_within(self, value: Opaque) -> Iterator[Value]:
        """What a value was computed from and is taken over all processes on the way into it."""
        node = value.node
        parts: tuple[cst.CSTNode, ...] = ()
        if isinstance(node, cst.Call):
            parts = tuple(argument.value for argument in node.args)
        elif isinstance(node, cst.BinaryOperation):
            parts = (node.left, node.right)
        for part in parts:
            if id(part) in self.reduced.nodes and not self.reduced.causes(part):
                yield from self.plan.facts.values_of(part)

    def is_training_data(self, source: Value) -> bool:
        """Whether iterating over a value gives batches of a training loader."""
        pending, seen = [source], set()
        while pending:
            value = pending.pop()
            if id(value) in self.training:
                return True
            if id(value) in seen or not isinstance(value, Opaque):
                continue
            seen.add(id(value))
            if value.kind in ("call", "operation") and value.name not in SIZES:
                for group in (*value.operands, *(a.values for a in value.arguments.items)):
                    pending.extend(group)
        return False

    def is_late(self, value: Opaque) -> bool:
        """Whether a value is drawn where the processes have random numbers of their own."""
        return any(
            event.order >= self.varied_from for event in self.happening.get(id(value.node), ())
        )

    def is_written(self, arguments: tuple[object, ...]) -> bool:
        """Whether the script itself writes what a call looks for."""
        return any(writes_into(self.plan, a.values) for a in arguments)  # type: ignore[attr-defined]


def is_layer(callee: Value, plan: Plan) -> bool:
    """Whether calling a value computes with layers."""
    behind = origin(callee)
    if is_instance_of(behind, plan.table.module_bases):
        return True
    return any(name.startswith(plan.table.layer_packages) for name in called_names(behind))


def is_first(value: Opaque) -> bool:
    """Whether ``size()`` is asked for the first dimension."""
    items = value.arguments.items
    return len(items) == 1 and only_constant(items[0].values) == Constant(0)


def is_shape(value: Opaque) -> bool:
    """Whether an item is one of a shape."""
    for base in value.operands[0]:
        if isinstance(base, Opaque):
            if base.kind == "attribute" and base.name == "shape":
                return True
            if base.kind == "call" and any(
                isinstance(c, Opaque) and c.name == "size" for c in base.callee
            ):
                return True
    return False
