"""The quantities of a script's values."""

from __future__ import annotations

from dataclasses import replace

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
    Value,
    Values,
)
from transpile.plan.graph import (
    called_names,
    is_instance_of,
    method_calls,
    walk_back,
)
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import enters_wrapper
from transpile.rules.paddle.data._batch_sizes import holds_share, numbers_given
from transpile.rules.paddle.losses import _words as words
from transpile.rules.paddle.losses._denominators import Pending, parts_of
from transpile.rules.paddle.losses._summands import summand

from .collectives import adding_up, all_reduced
from .domain import (
    AGREED,
    COUNT,
    EQUAL,
    MEAN,
    NOTHING,
    SAMPLES,
    SHAPE,
    SUM,
    Kind,
    Quantity,
    add,
    divide,
    join,
    layered,
    mixed,
    multiply,
    nonlinear,
    plain,
    scaled,
    unknown,
    with_pending,
)
from .losses import left_out, of_loss
from .solver import Solver
from .tensors import keeps_samples, of_word


class Analysis(Solver):
    """The quantities of one plan's values.

    Args:
        plan: the plan.
        reduced: the identities of calls that make numbers and are taken over all processes.
    """

    def __init__(self, plan: Plan, reduced: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.plan = plan
        self.reduced = reduced
        self.all_reduced = set(all_reduced(plan))
        self.adding_up = adding_up(plan)
        self.training = {id(loader.value) for loader in plan.training_loaders}
        self.loaders = {id(loader.value) for loader in plan.loaders}
        self.gathering: set[int] = set()
        self.gathering = self.find_gathering()
        self.known.clear()
        self.visited.clear()

    def find_gathering(self) -> set[int]:
        """The objects from elsewhere, such as metrics, that training puts samples into."""
        found: set[int] = set()
        for event in self.plan.facts.reached_calls:
            if not self.plan.in_training(event.stack):
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
            return self.beside_sum(value, several) or add(several[0], several[1])
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

    def beside_sum(self, value: Opaque, several: list[Quantity]) -> Quantity | None:
        """A sum over the batch with something added that is none: one side takes a factor."""
        kinds = [plain(one).kind for one in several]
        if Kind.SUM not in kinds or not {Kind.EQUAL, Kind.MEAN} & set(kinds):
            return None
        pending = summand(value, kinds[0] is Kind.SUM)
        if pending is None:
            return None
        found = SUM if pending.factor == "/" else MEAN
        return with_pending(replace(found, pending=frozenset({pending})), *several)

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
            if models and inner.kind in (Kind.UNKNOWN, Kind.NOTHING) and not inner.coupled:
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
            if callee.name.rpartition(".")[2] in words.FILLED and self.fills_batch(value):
                return SAMPLES
            return self.function(callee.name, value.arguments, given, value)
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            return self.method(callee, value, given)
        if isinstance(callee, Opaque) and called_names(callee):
            loss = called_names(callee)[0].rpartition(".")[2]
            if loss in words.LOSS_CLASSES:
                found = of_loss(loss, callee.arguments, given, settings=True, call=value)
                return left_out(self.plan, loss, found)
            return self.layer(value)
        if isinstance(callee, (Opaque, Instance)):
            return self.layer(value)
        return mixed(given, "a call that cannot be analysed")

    def fills_batch(self, value: Opaque) -> bool:
        """Whether a call fills a tensor that has an entry for each sample of a batch."""
        kinds = {self.of((number,)).kind for number in numbers_given(value)}
        like = (Kind.COUNT, Kind.SHAPE, Kind.SAMPLES)
        return any(kind in kinds for kind in like) or holds_share(self.plan, value)

    def layer(self, value: Opaque) -> Quantity:
        """What a layer or a model gives: models keep their samples apart."""
        return layered([self.of(argument.values) for argument in value.arguments.items])

    def within_model(self, found: Quantity) -> Quantity:
        """One of several outputs of a model."""
        return SAMPLES if found.kind is Kind.UNKNOWN and not found.coupled else found

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
        return of_word(callee.name, value.arguments, [receiver, *given], method=True)

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
        if name in table.gradient_functions and len(given) > 1:
            if given[0].kind in (Kind.SAMPLES, Kind.SUM) and given[1].kind is Kind.SAMPLES:
                # What is made of each sample by itself has its own gradient by that sample.
                return SAMPLES
        if name.startswith("paddle.static.nn."):
            return layered(given)
        if name in ("paddle.metric.accuracy", "paddle.static.accuracy"):
            return MEAN if SAMPLES in given else mixed(given, f"'{name}'")
        if name.startswith(("time.", "os.", "datetime.")):
            return EQUAL
        if name.startswith("paddle.nn.functional.") and word in words.LOSSES:
            found = of_loss(word, arguments, given, settings=False, call=call)
            return left_out(self.plan, word, found)
        if name.startswith("paddle.nn.") and word[:1].isupper():
            return EQUAL
        if name.startswith(("paddle.", "numpy.")):
            return of_word(word, arguments, given, method=False)
        return mixed(given, f"'{name}'")


@query
def analysis(plan: Plan) -> Analysis:
    """The quantities of a plan; made once for all rules."""
    return Analysis(plan)
