"""How a value depends on the training batch of one process.

Every process holds an equal share of the global batch. What the script computes from it is then,
over the global batch, the mean of what the processes have (a mean), their sum (a sum, a number of
samples), the same (what is independent of the samples), or something that cannot be told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import libcst as cst

from transpile.facts.values import (
    Arguments,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
)
from transpile.plan.graph import (
    called_names,
    is_instance_of,
    method_calls,
    parents,
    walk_back,
)
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import enters_wrapper
from transpile.rules.paddle import _words as words
from transpile.rules.paddle._denominators import Pending, parts_of


class Kind(Enum):
    """The ways in which a value depends on the batch."""

    NOTHING = "nothing"
    """No value yet, or zero: neutral in sums and choices."""
    EQUAL = "independent of the samples"
    COUNT = "a number of samples"
    SHAPE = "the shape of a tensor of samples"
    SAMPLES = "a tensor with an entry for each sample"
    MEAN = "a mean over the batch"
    SUM = "a sum over the batch"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Quantity:
    """What a value is.

    Args:
        kind: in which way it depends on the batch.
        reason: why it is unknown.
        agreed: it was taken over all processes.
        averaged: it is the average of what they have.
        pending: what must be rewritten before this holds.
    """

    kind: Kind
    reason: str = ""
    agreed: bool = False
    averaged: bool = False
    pending: frozenset[Pending] = frozenset()


NOTHING, EQUAL, COUNT, SHAPE, SAMPLES, MEAN, SUM = (
    Quantity(kind)
    for kind in (
        Kind.NOTHING, Kind.EQUAL, Kind.COUNT, Kind.SHAPE, Kind.SAMPLES, Kind.MEAN, Kind.SUM
    )
)  # fmt: skip
AGREED = Quantity(Kind.EQUAL, agreed=True)
#: More steps than this for one value, and nothing is told of it.
MOST_STEPS = 30_000
TOO_MUCH = "it depends on too much"
COLLECTIVES = frozenset({"paddle.distributed.all_reduce", "paddle.distributed.broadcast"})
#: Numbers of one process whose counterpart over the global batch is known.
REDUCIBLE = frozenset({Kind.MEAN, Kind.SUM})


def unknown(reason: str) -> Quantity:
    """A quantity that cannot be told."""
    return Quantity(Kind.UNKNOWN, reason)


def with_pending(found: Quantity, *parts: Quantity) -> Quantity:
    """A quantity that holds once what its parts wait for is rewritten."""
    pending = found.pending.union(*(part.pending for part in parts))
    return replace(found, pending=pending) if pending else found


def join(first: Quantity, second: Quantity) -> Quantity:
    """What is one or the other."""
    return with_pending(joined(first, second), first, second)


def joined(first: Quantity, second: Quantity) -> Quantity:
    """What is one or the other, whatever must be rewritten for it."""
    if first.kind is second.kind and first.pending != second.pending:
        return first
    if first == second or second.kind is Kind.NOTHING:
        return first
    if first.kind is Kind.NOTHING:
        return second
    if first.agreed or second.agreed:
        # One process takes the value as it is, several take it over all of them.
        return replace(AGREED, averaged=first.averaged or second.averaged)
    for one in (first, second):
        if one.kind is Kind.UNKNOWN:
            return one
    if {first.kind, second.kind} == {Kind.EQUAL, Kind.MEAN}:
        return MEAN
    if {first.kind, second.kind} == {Kind.EQUAL, Kind.SAMPLES}:
        return SAMPLES
    return unknown(f"it is {first.kind.value} on one way and {second.kind.value} on another")


def add(first: Quantity, second: Quantity) -> Quantity:
    """The sum or difference of two values."""
    first, second = plain(first), plain(second)
    kinds = {first.kind, second.kind}
    if kinds == {Kind.SUM, Kind.EQUAL} or kinds == {Kind.SUM, Kind.MEAN}:
        return unknown("it adds a sum over the batch to something that is no such sum")
    if kinds == {Kind.SAMPLES, Kind.MEAN} or kinds == {Kind.SAMPLES, Kind.SUM}:
        return unknown("it combines single samples with a number for the whole batch")
    return join(first, second)


def plain(quantity: Quantity) -> Quantity:
    """The same, whatever it was taken over."""
    return EQUAL if quantity.agreed else quantity


def multiply(first: Quantity, second: Quantity) -> Quantity:
    """The product of two values."""
    return with_pending(product(first, second), first, second)


def product(first: Quantity, second: Quantity) -> Quantity:
    """The product of two values, whatever must be rewritten for it."""
    if Kind.UNKNOWN in (first.kind, second.kind):
        return first if first.kind is Kind.UNKNOWN else second
    if Kind.NOTHING in (first.kind, second.kind):
        return second if first.kind is Kind.NOTHING else first
    if first.kind is Kind.EQUAL or second.kind is Kind.EQUAL:
        return second if first.kind is Kind.EQUAL else first
    kinds = {first.kind, second.kind}
    if kinds == {Kind.SAMPLES}:
        return SAMPLES
    if kinds == {Kind.MEAN, Kind.COUNT}:
        return SUM
    return unknown("it multiplies two numbers that are taken over the batch")


def divide(first: Quantity, second: Quantity) -> Quantity:
    """The quotient of two values."""
    return with_pending(quotient(first, second), first, second)


def quotient(first: Quantity, second: Quantity) -> Quantity:
    """The quotient of two values, whatever must be rewritten for it."""
    if second.kind in (Kind.EQUAL, Kind.NOTHING):
        return first
    if Kind.UNKNOWN in (first.kind, second.kind):
        return first if first.kind is Kind.UNKNOWN else second
    if second.kind is Kind.COUNT and first.kind is Kind.SUM:
        return MEAN
    if second.kind is Kind.COUNT and first.kind is Kind.COUNT:
        return EQUAL
    if second.kind is Kind.SAMPLES and first.kind in (Kind.SAMPLES, Kind.EQUAL):
        return SAMPLES
    return unknown("its denominator differs between the processes")


class Analysis:
    """The quantities of one plan's values.

    Args:
        plan: the plan.
        reduced: the identities of calls that make numbers and are taken over all processes.
    """

    def __init__(self, plan: Plan, reduced: frozenset[int] = frozenset()) -> None:
        self.plan = plan
        self.reduced = reduced
        self.known: dict[int, Quantity] = {}
        self.pending: dict[int, int] = {}
        self.lowest = 0
        self.steps = 0
        self.overrun: set[int] = set()
        self.all_reduced = set(all_reduced(plan))
        self.adding_up = {
            id(frame.function.node)
            for event in plan.facts.events
            if event.kind == "call" and External("paddle.distributed.all_reduce") in event.callee
            for frame in event.calls()
        }
        self.kept: list[Value] = []
        self.training = {id(loader.value) for loader in plan.training_loaders}
        self.loaders = {id(loader.value) for loader in plan.loaders}
        self.visited: set[int] = set()
        self.gathering: set[int] = set()
        self.gathering = self.find_gathering()
        self.known.clear()
        self.visited.clear()

    def find_gathering(self) -> set[int]:
        """The objects from elsewhere, such as metrics, that training puts samples into."""
        found: set[int] = set()
        for event in self.plan.facts.events:
            if event.kind != "call" or event.detached or not self.plan.in_training(event.stack):
                continue
            for callee in event.callee:
                if not isinstance(callee, Opaque) or callee.kind != "attribute":
                    continue
                if callee.name not in words.GATHERING:
                    continue
                given = [self.of(argument.values) for argument in event.arguments.items]
                if any(one.kind in (Kind.SAMPLES, Kind.UNKNOWN) for one in given):
                    found.update(id(one) for one in callee.operands[0] if called_names(one))
        return found

    def of_training(self, values: Values) -> bool:
        """Whether values were computed from batches of a training loader."""
        return any(
            id(value) in self.gathering or self.batch_of(value) is True
            for value in walk_back(values)
        )

    def of(self, values: Values) -> Quantity:
        """The quantity of an expression that may be any of the values."""
        if not self.pending:
            self.settle(values)
        found = NOTHING
        for value in values:
            found = join(found, self.of_one(value))
        return found

    def settle(self, values: Values) -> None:
        """Find what the values depend on first: a long chain would be too deep otherwise."""
        stack: list[tuple[Value, bool]] = [(value, False) for value in values]
        while stack:
            value, left = stack.pop()
            if left:
                self.of_one(value)
            elif id(value) not in self.visited:
                self.visited.add(id(value))
                self.kept.append(value)
                stack.append((value, True))
                for group in parents(value):
                    stack.extend((other, False) for other in group)

    def of_one(self, value: Value) -> Quantity:
        """The quantity of one value; neutral where it depends on itself, as in a loop."""
        if isinstance(value, Constant):
            zero = isinstance(value.value, (int, float)) and value.value == 0
            return NOTHING if value.value is None or (zero and value.value is not False) else EQUAL
        if isinstance(value, Unknown):
            return unknown(value.reason)
        if not isinstance(value, (Opaque, Sequence, Mapping, Generator)):
            return EQUAL
        if id(value) in self.known:
            return self.known[id(value)]
        if id(value) in self.overrun:
            return unknown(TOO_MUCH)
        if id(value) in self.pending:
            self.lowest = min(self.lowest, self.pending[id(value)])
            return NOTHING
        self.steps += 1
        if self.steps > MOST_STEPS:
            # Whatever is on the way here is in the same knot, and need not be tried again.
            self.overrun.update(self.pending)
            return unknown(TOO_MUCH)
        depth = len(self.pending)
        self.pending[id(value)] = depth
        outer, self.lowest = self.lowest, depth
        found = self.transfer(value)
        del self.pending[id(value)]
        if id(value) in self.overrun:
            self.kept.append(value)
        if self.lowest >= depth:
            # What was found within a cycle holds only once all of it has been seen.
            self.known[id(value)] = found
            self.kept.append(value)
            self.lowest = outer
        else:
            self.lowest = min(self.lowest, outer)
        if depth == 0:
            self.steps, self.lowest = 0, 0
        return found

    def transfer(self, value: Opaque | Sequence | Mapping | Generator) -> Quantity:
        """The quantity of a value from those of what it is made of."""
        if isinstance(value, Generator):
            return self.of(value.yields)
        if isinstance(value, (Sequence, Mapping)):
            return self.of(value.every())
        if id(value.node) in self.reduced:
            return EQUAL
        if id(value) in self.all_reduced:
            return AGREED
        if value.kind == "element":
            return self.element(value)
        if value.kind == "operation":
            return self.operation(value)
        if value.kind == "attribute":
            return self.attribute(value)
        if value.kind == "item":
            return self.item(value)
        if value.kind == "call":
            return self.call(value)
        return unknown(f"nothing is known of '{value.name}'")

    # Kinds of nodes.

    def batch_of(self, value: Value) -> bool | None:
        """Whether a value is a batch of a training loader (True) or another (False); else None."""
        if not isinstance(value, Opaque) or value.kind != "element":
            return None
        found: bool | None = None
        for behind in walk_back(value.operands[0], enters_wrapper):
            if id(behind) in self.training:
                return True
            if id(behind) in self.loaders:
                found = False
        return found

    def element(self, value: Opaque) -> Quantity:
        """What iterating gives."""
        batch = self.batch_of(value)
        if batch is not None:
            return SAMPLES if batch else EQUAL
        if any("builtins.range" in called_names(source) for source in value.operands[0]):
            return EQUAL
        found = self.of(value.operands[0])
        return unknown("it takes single samples out of a batch") if found == SAMPLES else found

    def attribute(self, value: Opaque) -> Quantity:
        """``base.name``."""
        found = self.of(value.operands[0])
        if value.name == "shape":
            return SHAPE if found.kind is Kind.SAMPLES else EQUAL
        if value.name in words.NEUTRAL_ATTRIBUTES:
            return EQUAL
        return found

    def item(self, value: Opaque) -> Quantity:
        """``base[index]`` or one part of what is unpacked."""
        if value.inner:
            return self.within_model(self.of(value.inner))
        base = self.of(value.operands[0])
        constant = value.index[0] if len(value.index) == 1 else None
        position = constant.value if isinstance(constant, Constant) else None
        if base.kind is Kind.SHAPE:
            return COUNT if position == 0 else EQUAL
        if base.kind is not Kind.SAMPLES:
            return base
        unpacked = self.unpacked(value, position)
        if unpacked is not None:
            return unpacked
        if isinstance(position, str) or self.is_collection(value.operands[0]):
            return SAMPLES
        if isinstance(value.node, cst.Subscript) and keeps_samples(value.node):
            return SAMPLES
        return unknown("it takes single samples out of a batch")

    def unpacked(self, value: Opaque, position: object) -> Quantity | None:
        """One of several values that a model gives back on some of its ways; None for others.

        Where it gives back a tensor on other ways, nobody unpacks that.
        """
        if isinstance(value.node, cst.Subscript) or not isinstance(position, int):
            return None
        found: list[Value] = []
        for call in value.operands[0]:
            for one in call.inner if isinstance(call, Opaque) else ():
                if isinstance(one, Sequence) and position < len(one.elements):
                    found.extend(one.elements[position])
        return self.within_model(self.of(tuple(found))) if found else None

    def is_collection(self, values: Values) -> bool:
        """Whether values are batches, or several outputs of a model, and no tensors."""
        for value in values:
            if self.batch_of(value) is not None or isinstance(value, (Sequence, Mapping)):
                continue
            if isinstance(value, Opaque) and value.kind == "call":
                names = called_names(value)
                if names and names[0].rpartition(".")[2] in words.SEVERAL:
                    continue
                if not names and not method_calls(value):
                    continue
            return False
        return bool(values)

    def operation(self, value: Opaque) -> Quantity:
        """An operator, or a builtin that the facts model as one."""
        several = [self.of(operand) for operand in value.operands]
        name = value.name
        if isinstance(value.node, cst.AugAssign) and id(value.node.value) in self.reduced:
            several[1] = EQUAL
        if name == "Multiply" and any(map(self.is_world_size, value.operands)):
            return scaled(several[0] if self.is_world_size(value.operands[1]) else several[1])
        if name in ("Add", "Subtract"):
            return add(several[0], several[1])
        if name == "Multiply":
            return multiply(several[0], several[1])
        if name == "Divide" and several[0].agreed and self.is_world_size(value.operands[1]):
            return replace(several[0], averaged=True)
        if name == "Multiply" and any(map(self.communicates, value.operands)):
            # The mean is weighed by what this process counts for.
            weighed = several[0 if self.communicates(value.operands[1]) else 1]
            if weighed.pending:
                return replace(weighed, pending=frozenset())
        if name == "Divide" and several[0].kind is Kind.SUM:
            averaged = self.over_own_number(value, several)
            if averaged is not None:
                return averaged
        if name in ("Divide", "FloorDivide"):
            return divide(several[0], several[1])
        if name in ("Minus", "Plus"):
            return several[0]
        if name == "len":
            operand = value.operands[0]
            if any(id(one) in self.loaders for one in operand):
                return EQUAL
            if all(isinstance(one, (Sequence, Mapping)) for one in operand):
                return EQUAL
            return COUNT if several[0].kind is Kind.SAMPLES else EQUAL
        if name in ("index", "isinstance", "yield"):
            return EQUAL
        if name in ("iterate", "filter", "enumerate", "zip", "And", "Or", "format", "concatenate"):
            return self.together(several)
        return nonlinear(several)

    def over_own_number(self, value: Opaque, several: list[Quantity]) -> Quantity | None:
        """A sum over a number that each process has of its own, such as that of a mask."""
        node = value.node
        if not isinstance(node, cst.BinaryOperation):
            return None
        below = parts_of(self.plan, node.right)
        found = self.of(self.plan.facts.values_of(below.reduced))
        if found.agreed and found.averaged:
            return with_pending(MEAN, several[0])
        if found.kind is not Kind.SUM:
            return None
        pending = Pending(value.module, node.right)
        return with_pending(replace(MEAN, pending=frozenset({pending})), several[0])

    def communicates(self, values: Values) -> bool:
        """Whether values are results of a function in which the processes add something up."""
        return any(
            isinstance(callee, Function) and id(callee.node) in self.adding_up
            for value in values
            if isinstance(value, Opaque) and value.kind == "call"
            for callee in value.callee
        )

    def is_world_size(self, values: Values) -> bool:
        """Whether values are the number of processes."""
        return bool(values) and all(
            any(name in self.plan.table.world_size_calls for name in called_names(value))
            for value in values
        )

    def together(self, several: list[Quantity]) -> Quantity:
        """Several values side by side."""
        found = NOTHING
        for one in several:
            found = join(found, one)
        return found

    def call(self, value: Opaque) -> Quantity:
        """A call that gives a value."""
        if value.inner:
            inner = self.of(value.inner)
            models = any(
                is_instance_of(callee, self.plan.table.module_bases) for callee in value.callee
            )
            if models and inner.kind in (Kind.UNKNOWN, Kind.NOTHING):
                return self.layer(value)
            return inner
        given = [self.of(argument.values) for argument in value.arguments.items]
        found = NOTHING
        for callee in value.callee:
            found = join(found, self.call_of(callee, value, given))
        return found

    def call_of(self, callee: Value, value: Opaque, given: list[Quantity]) -> Quantity:
        """A call of one of the alternatives."""
        if isinstance(callee, External):
            return self.function(callee.name, value.arguments, given, value)
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            return self.method(callee, value, given)
        if isinstance(callee, Opaque) and called_names(callee):
            loss = called_names(callee)[0].rpartition(".")[2]
            if loss in words.LOSS_CLASSES:
                return self.loss(loss, callee.arguments, given, settings=True, call=value)
            return self.layer(value)
        if isinstance(callee, (Opaque, Instance)):
            return self.layer(value)
        return self.mixed(given, "a call that cannot be looked into")

    def layer(self, value: Opaque) -> Quantity:
        """What a layer or a model gives: models keep their samples apart."""
        return self.layered([self.of(argument.values) for argument in value.arguments.items])

    def layered(self, given: list[Quantity]) -> Quantity:
        """What a layer makes of its arguments."""
        if any(one.kind in (Kind.SAMPLES, Kind.UNKNOWN) for one in given):
            return SAMPLES
        return self.mixed(given, "a layer")

    def within_model(self, found: Quantity) -> Quantity:
        """One of several outputs of a model."""
        return SAMPLES if found.kind is Kind.UNKNOWN else found

    def mixed(self, given: list[Quantity], what: str) -> Quantity:
        """What a function of unknown meaning makes of its arguments."""
        for one in given:
            if one.kind not in (Kind.EQUAL, Kind.NOTHING):
                return one if one.kind is Kind.UNKNOWN else unknown(f"it goes through {what}")
        return EQUAL

    def method(self, callee: Opaque, value: Opaque, given: list[Quantity]) -> Quantity:
        """``receiver.name(...)``."""
        receivers = callee.operands[0]
        if any(isinstance(one, External) for one in receivers):
            name = next(one.name for one in receivers if isinstance(one, External))
            return self.function(f"{name}.{callee.name}", value.arguments, given)
        receiver = self.of(receivers)
        made = [name for one in receivers for name in called_names(one)]
        if callee.name in ("scale", "unscale") and any("GradScaler" in name for name in made):
            return given[0] if given else EQUAL
        if callee.name in words.NEUTRAL_METHODS:
            return EQUAL
        if callee.name == "run" and "paddle.static.Executor" in made:
            # What a static graph gives back is looked at where the graph is.
            return EQUAL
        if any(id(one) in self.gathering for one in receivers):
            return unknown("it is gathered from the batches of this process")
        return self.word(callee.name, value.arguments, [receiver, *given], method=True)

    def function(
        self,
        name: str,
        arguments: Arguments,
        given: list[Quantity],
        call: Opaque | None = None,
    ) -> Quantity:
        """A function outside the project."""
        word = name.rpartition(".")[2]
        table = self.plan.table
        if name in table.rank_calls or name in table.world_size_calls:
            return EQUAL
        if name.startswith("builtins."):
            if word in ("float", "int", "abs", "round", "str", "list", "tuple", "sum", "format"):
                if word == "abs" or (word == "sum" and SAMPLES in given):
                    return nonlinear(given) if word == "abs" else SUM
                return given[0] if given else EQUAL
            if word in ("max", "min"):
                return nonlinear(given)
        if name == "paddle.static.data":
            return SAMPLES
        if name.startswith("paddle.static.nn."):
            return self.layered(given)
        if name in ("paddle.metric.accuracy", "paddle.static.accuracy"):
            return MEAN if SAMPLES in given else self.mixed(given, f"'{name}'")
        if name.startswith(("time.", "os.", "datetime.")):
            return EQUAL
        if name.startswith("paddle.nn.functional.") and word in words.LOSSES:
            return self.loss(word, arguments, given, settings=False, call=call)
        if name.startswith("paddle.nn.") and word[:1].isupper():
            return EQUAL
        if name.startswith(("paddle.", "numpy.")):
            return self.word(word, arguments, given, method=False)
        return self.mixed(given, f"'{name}'")

    # Words of tensors.

    def word(
        self, word: str, arguments: Arguments, given: list[Quantity], method: bool
    ) -> Quantity:
        """A function or method of tensors, by its name; its tensor comes first."""
        name = word.rstrip("_")
        tensor = given[0] if given else EQUAL
        if tensor.kind is Kind.UNKNOWN:
            return tensor
        if name in words.SAME:
            return tensor
        if name == "shape":
            return SHAPE if tensor.kind is Kind.SAMPLES else EQUAL
        if name in words.ARITHMETIC and len(given) > 1:
            return ARITHMETIC[words.ARITHMETIC[name]](tensor, given[1])
        if name in words.FACTORIES:
            return EQUAL
        if name == "add_n":
            return tensor
        reducing = name in words.MEANS or name in words.SUMS or name in words.OVER_ALL
        if reducing or name in words.ALONG:
            return self.reduction(name, arguments, tensor, method)
        if name in words.MIXING and tensor.kind is Kind.SAMPLES:
            return unknown(f"'{name}' may compare the samples of a batch with each other")
        if name in words.PAIRING:
            several = [one for one in given if one.kind is Kind.SAMPLES]
            if len(several) > 1 and name in ("matmul", "mm", "dot", "einsum", "cdist"):
                return unknown(f"'{name}' may compare the samples of a batch with each other")
        if name in words.ELEMENTWISE:
            return nonlinear(given)
        return self.mixed(given, f"'{word}'")

    def reduction(
        self, name: str, arguments: Arguments, tensor: Quantity, method: bool
    ) -> Quantity:
        """A sum, a mean or the like over some or all dimensions."""
        axis = arguments.keyword("axis") or arguments.keyword("dim")
        if axis is None:
            ordered = arguments.positional()[0 if method else 1 :]
            where = 1 if name in ("topk", "norm", "quantile") else 0
            axis = ordered[where] if len(ordered) > where else None
        chosen = axes(axis.values) if axis is not None else None
        if chosen == () or (chosen is None and axis is not None):
            return (
                tensor
                if tensor.kind in (Kind.EQUAL, Kind.NOTHING)
                else unknown(f"the dimensions of '{name}' are not known")
            )
        if tensor.kind is Kind.SAMPLES:
            if chosen is None and name in words.ALONG:
                return SAMPLES
            if chosen is not None and 0 not in chosen:
                return SAMPLES
            if chosen is None and name in words.MEANS:
                return MEAN
            if chosen is None and name in words.SUMS:
                return SUM
            if chosen == (0,) and name in words.MEANS:
                return MEAN
            if chosen == (0,) and name in words.SUMS:
                return SUM
            return unknown(f"'{name}' looks at all samples of the batch at once")
        if name in words.MEANS or name in words.SUMS:
            return tensor
        return nonlinear([tensor])

    # Losses.

    def loss(
        self,
        word: str,
        arguments: Arguments,
        given: list[Quantity],
        settings: bool,
        call: Opaque | None = None,
    ) -> Quantity:
        """A loss function, or the call of a loss object that was made with `arguments`."""
        if settings and not any(one.kind in (Kind.SAMPLES, Kind.UNKNOWN) for one in given):
            return EQUAL if not any(one.kind in REDUCIBLE for one in given) else given[0]
        if not settings and not any(one.kind is Kind.SAMPLES for one in given):
            return self.mixed(given, f"'{word}'") if given else EQUAL
        if arguments.unknown_because:
            return unknown(f"the arguments of the loss are not known: {arguments.unknown_because}")
        if word in words.COUPLING:
            return unknown("the loss compares the samples of a batch with each other")
        offset = 0 if settings else 2
        order = words.LOSS_PARAMETERS.get(words.LOSS_CLASSES.get(word, word), ("reduction",))

        def setting(name: str) -> Values:
            position = order.index(name) + offset if name in order else None
            argument = arguments.get(name, position)
            return argument.values if argument is not None else ()

        if len(arguments.positional()) > offset + len(order):
            return unknown("it is not known how the loss is reduced")
        chosen = "none" if not settings and word in words.UNREDUCED else "mean"
        if setting("reduction"):
            constants = [v.value for v in setting("reduction") if isinstance(v, Constant)]
            if len(constants) != 1 or len(setting("reduction")) != 1:
                return unknown("it is not known how the loss is reduced")
            chosen = str(constants[0])
        if chosen == "none":
            return SAMPLES
        if chosen == "sum":
            return SUM
        if word in words.UNREDUCED:
            return unknown("it is not known how the loss is reduced")
        by = [
            name
            for name in ("weight", "ignore_index")
            if setting(name) not in ((), (Constant(None),))
            and not (name == "weight" and word in words.PLAINLY_WEIGHTED)
        ]
        if not by:
            return MEAN
        soft = arguments.get("soft_label", None)
        plain = soft is None or soft.values == (Constant(False),)
        functional = words.LOSS_CLASSES.get(word, word)
        if call is None or functional not in words.BY_TARGETS or not plain:
            return unknown(f"its mean is taken by '{by[0]}', over less or more than the samples")
        pending = Pending(
            call.module, call.node, True, settings, "weight" in by, "ignore_index" in by
        )
        return replace(MEAN, pending=frozenset({pending}))


ARITHMETIC = {"add": add, "multiply": multiply, "divide": divide}


def scaled(quantity: Quantity) -> Quantity:
    """A value that is multiplied by the number of processes."""
    if quantity.kind is Kind.COUNT:
        return AGREED
    # The average of the scaled sums is the sum over all processes.
    return MEAN if quantity.kind is Kind.SUM else quantity


def all_reduced(plan: Plan) -> list[int]:
    """The identities of the values that ``all_reduce`` and ``broadcast`` work on."""
    return [
        id(value)
        for event in plan.facts.events
        if event.kind == "call"
        and any(isinstance(c, External) and c.name in COLLECTIVES for c in event.callee)
        for argument in event.arguments.items[:1]
        for value in argument.values
    ]


def nonlinear(given: list[Quantity]) -> Quantity:
    """A function that is applied to each element."""
    found = NOTHING
    for one in given:
        if one.kind is Kind.UNKNOWN:
            return one
        if one.kind in (Kind.MEAN, Kind.SUM):
            return unknown("it is a function of a number taken over the batch that is not linear")
        if one.kind is Kind.SAMPLES or found.kind in (Kind.NOTHING, Kind.EQUAL):
            found = one if one.kind is not Kind.NOTHING else found
    return found if found.kind is not Kind.NOTHING else EQUAL


def axes(values: Values) -> tuple[int, ...] | None:
    """The dimensions that an argument names; empty where they are not known, None for all."""
    if len(values) != 1:
        return ()
    value = values[0]
    if isinstance(value, Constant):
        if value.value is None:
            return None
        return (value.value,) if isinstance(value.value, int) else ()
    if isinstance(value, Sequence) and not value.rest:
        found: list[int] = []
        for element in value.elements:
            inner = axes(element)
            if not inner or len(inner) != 1:
                return ()
            found.extend(inner)
        return tuple(found)
    return ()


def keeps_samples(node: cst.Subscript) -> bool:
    """Whether an index takes all samples: ``x[:, 0]``, ``x[...]``."""
    first = node.slice[0].slice
    if isinstance(first, cst.Slice):
        return first.lower is None and first.upper is None and first.step is None
    return isinstance(first, cst.Index) and isinstance(first.value, cst.Ellipsis)


def analysis(plan: Plan) -> Analysis:
    """The quantities of a plan; made once for all rules."""
    if "quantities" not in plan.memo:
        plan.memo["quantities"] = Analysis(plan)
    found: Analysis = plan.memo["quantities"]
    return found
