"""The numbers that a script reports or decides by, and where they leave the training batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from string import Formatter

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
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
from transpile.facts.walk import children
from transpile.plan.effects import Effect, Vocabulary, find_effects
from transpile.plan.effects import Kind as EffectKind
from transpile.plan.graph import called_names, is_instance_of, method_calls, parents, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.ranks import Ranks
from transpile.plan.roles import data_sources
from transpile.rules.pytorch._loss_scaling import rewritten, scaled_terms
from transpile.rules.pytorch._quantity import (
    Analysis,
    Duty,
    Kind,
    Pending,
    Quantity,
    analysis,
)
from transpile.rules.pytorch._quantity.shapes import PIECES
from transpile.rules.pytorch._reductions import is_simple, obstacle, tensor_behind

#: Effects that show or keep what they are given.
SHOWING = frozenset(
    {
        EffectKind.PRINT, EffectKind.CONSOLE, EffectKind.LOG, EffectKind.HANDLE, EffectKind.WRITE,
        EffectKind.PLOT, EffectKind.TRACK, EffectKind.SWITCHED_TRACK,
    }
)  # fmt: skip
#: Methods that show or keep numbers, whatever they belong to.
SHOWING_METHODS = frozenset(
    {
        "set_postfix", "set_postfix_str", "set_description", "set_description_str", "add_scalar",
        "add_scalars", "scalar_summary", "log_metric", "log_metrics", "log_value", "log_scalar",
        "report_scalar",
    }
)  # fmt: skip
#: Methods that put something into a list, set or dict.
FILLING = frozenset({"append", "appendleft", "add", "insert", "extend", "setdefault", "update"})
#: Functions whose result is text or a container of what they are given.
PASSING = frozenset(
    {
        "builtins.str", "builtins.repr", "builtins.format", "builtins.round", "json.dumps",
        "pprint.pformat", "numpy.array", "numpy.asarray", "torch.tensor", "torch.stack",
        "copy.deepcopy", "copy.copy", "vars", "wandb.Image", "wandb.Histogram", "wandb.Table",
    }
)  # fmt: skip
TEXT_METHODS = frozenset({"format", "join", "ljust", "rjust", "center", "encode"})
#: Methods that numbers go through on their way.
ARITHMETIC = frozenset(
    {
        "item", "float", "cpu", "detach", "numpy", "mul", "mul_", "div", "div_", "add", "add_",
        "sub", "double", "mean", "sum", "to", "clone", "exp", "sqrt", "tolist",
    }
)  # fmt: skip
#: How deep texts and containers are looked into.
DEEPEST = 12


class Change(Enum):
    """What becomes of a place."""

    MEAN = "mean"
    SUM = "sum"
    COUNT = "count"
    DENOMINATOR = "denominator"
    SHARED_SUM = "shared sum"
    SHARED_COUNT = "shared count"


@dataclass(frozen=True, eq=False)
class Part:
    """One thing that is reported, or that a decision depends on.

    Args:
        values: what it may be.
        node: the expression; None where it is kept in an object.
        module: where that stands.
        event: what reports it.
        decides: it is part of a condition.
    """

    values: Values
    node: cst.BaseExpression | None
    module: Module
    event: Event
    decides: bool = False


@dataclass(eq=False)
class Leaf:
    """A place where a number of this process's batch is turned into that of the global batch.

    Args:
        module: where it is.
        node: the tensor or number to reduce, or the count to multiply.
        degree: of the tensor over the batch.
        change: what becomes of it.
        whole_degree: its degree once all counts that it is made of are those of all processes.
        inner: the counts that it is made of, by the identity of their node.
        whole: it must become that of the global batch; else an average over processes is enough.
        event: what reports it.
        pending: for a denominator, the place to rewrite.
        evaluates: it is reached with other batches than those of training, too.
        loader: the text of the loader that its batch comes from, where both reach it.
        plain: it is a plain number rather than a tensor.
        cuts: the ``int`` that makes a number of the tensor, and would cut an average off.
    """

    module: Module
    node: cst.BaseExpression
    degree: int
    change: Change
    event: Event
    whole_degree: int = 0
    inner: frozenset[int] = frozenset()
    whole: bool = False
    pending: Pending | None = None
    evaluates: bool = False
    loader: str = ""
    plain: bool = False
    cuts: cst.Name | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """A reported part and the places where its numbers leave the batch."""

    part: Part
    quantity: Quantity
    leaves: tuple[Leaf, ...]

    @property
    def nodes(self) -> set[int]:
        """The identities of the places."""
        return {id(leaf.node) for leaf in self.leaves}

    @property
    def is_ratio(self) -> bool:
        """Whether the part stays the same where all of its sums and counts are averages."""
        linear = self.quantity.kind in (Kind.EQUAL, Kind.PART)
        return linear and self.quantity.degrees == frozenset({0})


@dataclass(frozen=True, eq=False)
class Doubt:
    """Something reported that cannot be turned into a number of the global batch.

    Args:
        module: where it is.
        node: the expression, or the call that reports it.
        reason: why.
        samples: it is no number but some of the samples themselves.
    """

    module: Module
    node: cst.CSTNode
    reason: str
    samples: bool = False


@dataclass(eq=False)
class Reported:
    """Everything that is reported of training batches.

    Args:
        leaves: the places to change, by the identity of their node.
        done: what is taken over the processes already, by the identity of the node.
        doubts: what must be looked at, by the identity of the node.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    done: dict[int, Part] = field(default_factory=dict)
    doubts: dict[int, Doubt] = field(default_factory=dict)

    def together(self) -> set[int]:
        """The expressions in which every process will take part, by the identity of their node."""
        counts = (Change.COUNT, Change.SHARED_COUNT)
        return {id(leaf.node) for leaf in self.leaves.values() if leaf.change not in counts}


def reported(plan: Plan, vocabulary: Vocabulary) -> Reported:
    """What a script reports of its training batches; found once for all rules."""
    if "reported numbers" not in plan.memo:
        plan.memo["reported numbers"] = Search(plan, vocabulary).find()
    found: Reported = plan.memo["reported numbers"]
    return found


class Search:
    """Finds what is reported, and where it leaves the batch.

    Args:
        plan: the plan.
        vocabulary: the framework's own effects.
    """

    def __init__(self, plan: Plan, vocabulary: Vocabulary) -> None:
        self.plan = plan
        self.vocabulary = vocabulary
        terms = scaled_terms(plan)
        self.analysis = Analysis(plan, terms) if terms else analysis(plan)
        self.whole = Analysis(plan, terms, whole=True)
        self.settled = rewritten(plan)
        self.ranks = Ranks(plan, frozenset())
        self.found = Reported()
        self.calls: dict[int, list[Event]] = {}
        for event in plan.facts.events:
            if event.kind == "call":
                self.calls.setdefault(id(event.node), []).append(event)
        self.entered: set[int] = set()
        losses = tuple(value for backward in plan.backwards for value in backward.loss)
        self.trained = {id(value) for value in walk_back(losses)}
        self.held = {id(loader.value) for loader in plan.loaders} | {
            id(optimizer.value) for optimizer in plan.optimizers
        }

    def find(self) -> Reported:
        """All of it."""
        groups = []
        # What is kept in objects is reduced where it gets in, and is then not reduced again.
        for part in sorted(self.parts(), key=lambda part: part.node is not None):
            if self.matters(part):
                quantity = self.analysis.of(part.values)
                groups.append(Group(part, quantity, tuple(self.leaves_of(part, quantity))))
        for together in connected(groups):
            self.settle(together)
        for leaf in list(self.found.leaves.values()):
            self.finish(leaf)
        return self.found

    # What is reported.

    def parts(self) -> Iterator[Part]:
        """Everything that is shown, kept or compared."""
        effects: dict[int, Effect] = {
            id(effect.node): effect for effect in find_effects(self.plan, self.vocabulary)
        }
        for event in self.plan.facts.events:
            if event.detached or self.in_model(event.module, event.node):
                continue
            if event.kind == "test" and isinstance(event.node, cst.BaseExpression):
                yield from self.conditions(event.callee, event.node, event)
            elif event.kind == "call" and self.shows(event, effects.get(id(event.node))):
                for argument in event.arguments.items:
                    node = argument.node if isinstance(argument.node, cst.BaseExpression) else None
                    yield from self.split(argument.values, node, event.module, event)
            elif event.kind == "call":
                yield from self.closures(event)

    def shows(self, event: Event, effect: Effect | None) -> bool:
        """Whether a call shows or keeps what it is given."""
        if effect is not None and effect.kind in SHOWING:
            return True
        for callee in event.callee:
            if isinstance(callee, External):
                package, _, word = callee.name.rpartition(".")
                if word in SHOWING_METHODS and package:
                    return True
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in SHOWING_METHODS:
                    return True
                if callee.name == "step" and any(self.schedules(v) for v in callee.operands[0]):
                    return True
        return False

    def schedules(self, value: Value) -> bool:
        """Whether a value is a scheduler of the learning rate."""
        return any("lr_scheduler." in name for name in called_names(value))

    def closures(self, event: Event) -> Iterator[Part]:
        """The loss that a closure gives to an optimizer which compares losses."""
        for callee in event.callee:
            if not (isinstance(callee, Opaque) and callee.name == "step"):
                continue
            if not any(
                name.endswith(".LBFGS") for v in callee.operands[0] for name in called_names(v)
            ):
                continue
            for argument in event.arguments.items:
                for function in argument.values:
                    if isinstance(function, Function) and isinstance(
                        function.node, cst.FunctionDef
                    ):
                        for node in returned(function.node):
                            values = self.plan.facts.values_of(node)
                            yield Part(values, node, function.module, event, decides=True)

    def conditions(self, values: Values, node: cst.BaseExpression, event: Event) -> Iterator[Part]:
        """The parts of a condition that are compared."""
        parts: list[cst.BaseExpression] = []
        if isinstance(node, cst.Comparison):
            parts = [node.left, *(target.comparator for target in node.comparisons)]
        elif isinstance(node, cst.BooleanOperation):
            parts = [node.left, node.right]
        elif isinstance(node, cst.UnaryOperation):
            parts = [node.expression]
        if not parts:
            if not any(checks_for_nan(value) for value in values):
                yield Part(values, node, event.module, event, decides=True)
            return
        operands: tuple[Values, ...] = ()
        if len(values) == 1 and isinstance(values[0], Opaque) and values[0].node is node:
            operands = values[0].operands
        for position, part in enumerate(parts):
            inner = operands[position] if position < len(operands) else ()
            yield from self.conditions(inner or self.plan.facts.values_of(part), part, event)

    def split(
        self,
        values: Values,
        node: cst.BaseExpression | None,
        module: Module,
        event: Event,
        depth: int = 0,
    ) -> Iterator[Part]:
        """The numbers and tensors inside texts, containers and objects."""
        plain: list[Value] = []
        for value in values:
            inside = self.inside(value, module) if depth < DEEPEST else None
            if inside is None:
                plain.append(value)
                continue
            for part, expression, where in inside:
                yield from self.split(part, expression, where, event, depth + 1)
        if plain:
            yield Part(tuple(plain), node, module, event)

    def inside(
        self, value: Value, module: Module
    ) -> list[tuple[Values, cst.BaseExpression | None, Module]] | None:
        """What a text, container or object is made of; None for numbers and tensors."""
        if isinstance(value, Sequence):
            nodes = displayed(value.node, len(value.elements))
            pairs = [
                (part, expression, module)
                for part, expression in zip(value.elements, nodes, strict=True)
            ]
            if value.rest:
                element = value.node.elt if isinstance(value.node, COMPREHENSIONS) else None
                pairs.append((value.rest, element, module))
            return pairs
        if isinstance(value, Mapping):
            found = [
                (
                    entry.values,
                    entry.node if isinstance(entry.node, cst.BaseExpression) else None,
                    entry.module or module,
                )
                for entry in value.entries.values()
            ]
            return [*found, (value.rest, None, module)] if value.rest else found
        if isinstance(value, Generator):
            return [(value.yields, None, module)]
        if isinstance(value, Instance):
            if id(value) in self.held or is_instance_of(value, self.plan.table.module_bases):
                return []
            return [(part, None, module) for part in value.attributes.values()]
        if isinstance(value, Opaque):
            return self.inside_text(value)
        return None

    def inside_text(
        self, value: Opaque
    ) -> list[tuple[Values, cst.BaseExpression | None, Module]] | None:
        """What a text is made of."""
        where = value.module
        if value.kind == "operation" and value.name == "format":
            nodes = formatted(value.node)
            if len(nodes) != len(value.operands):
                nodes = [None] * len(value.operands)
            return [(part, n, where) for part, n in zip(value.operands, nodes, strict=True)]
        if value.kind == "operation" and value.name in ("Add", "Modulo", "concatenate"):
            if not any(is_text(operand) for operand in value.operands):
                return None
            sides: list[cst.BaseExpression | None] = [None, None]
            if isinstance(value.node, cst.BinaryOperation):
                sides = [value.node.left, value.node.right]
            elif isinstance(value.node, cst.AugAssign):
                sides = [None, value.node.value]
            return [(part, n, where) for part, n in zip(value.operands, sides, strict=False)]
        if value.kind != "call":
            return None
        passes = any(name in PASSING for name in called_names(value)) or any(
            isinstance(callee, Opaque)
            and callee.kind == "attribute"
            and callee.name in TEXT_METHODS
            and is_text(callee.operands[0])
            for callee in value.callee
        )
        if not passes:
            return None
        shown = shown_attributes(value)
        found: list[tuple[Values, cst.BaseExpression | None, Module]] = []
        for position, item in enumerate(value.arguments.items):
            names = shown.get(item.keyword or str(position))
            objects = [one for one in item.values if isinstance(one, Instance)]
            if names and len(objects) == len(item.values):
                found.extend(
                    (one.attributes.get(name, ()), None, where) for one in objects for name in names
                )
                continue
            node = item.node if isinstance(item.node, cst.BaseExpression) else None
            found.append((item.values, node, where))
        return found

    # What matters of it.

    def matters(self, part: Part) -> bool:
        """Whether a part depends on training batches in a way that several processes change."""
        quantity = self.analysis.of(part.values)
        if quantity.kind in (Kind.NOTHING, Kind.SHAPE):
            return False
        if quantity.agreed and not quantity.pending and quantity.degree == 0:
            node = part.node or part.event.node
            self.found.done.setdefault(id(node), part)
            return False
        if quantity.independent:
            return False
        if quantity.kind is Kind.UNKNOWN:
            if not data_sources(part.values, self.plan):
                return False
            if self.whole.of(part.values).kind is Kind.EQUAL:
                return True
            self.doubt(part, quantity.reason, quantity.reason == PIECES and not quantity.whole)
            return False
        if quantity.kind is Kind.SAMPLE:
            self.doubt(part, "these are samples of one process's share of the batch", True)
            return False
        return True

    def doubt(self, part: Part, reason: str, samples: bool = False) -> None:
        """Note something that must be looked at; decisions are taken care of elsewhere."""
        if part.decides:
            return
        node = part.node or part.event.node
        module = part.module if part.node is not None else part.event.module
        self.found.doubts.setdefault(id(node), Doubt(module, node, reason, samples))

    def in_model(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is part of a model's code."""
        found: bool = self.analysis.is_model_code(module, node)
        return found

    # Where it leaves the batch.

    def leaves_of(self, part: Part, quantity: Quantity) -> Iterator[Leaf]:
        """The places where the numbers of a part leave the batch."""
        for pending in sorted(quantity.pending, key=place_of):
            yield from self.pending_leaf(part, pending)
        if quantity.kind is Kind.PART:
            yield from self.tensor_leaf(part)
        else:
            yield from self.counts(part, part.values)

    def pending_leaf(self, part: Part, pending: Pending) -> Iterator[Leaf]:
        """A number that leaves the tensors, or a denominator of a number."""
        if pending in self.settled and pending.duty is not Duty.NUMBER:
            return
        why = obstacle(self.plan, pending)
        if self.in_model(pending.module, pending.node):
            why = "it is made inside a model"
        if why:
            self.doubt(part, why)
            return
        if pending.duty is not Duty.NUMBER:
            assert isinstance(pending.node, cst.BaseExpression)
            yield Leaf(pending.module, pending.node, 0, Change.DENOMINATOR, part.event, pending)
            return
        tensor = tensor_behind(pending.node)
        assert tensor is not None
        for leaf in self.leaf_at(part, pending.module, tensor):
            function = pending.node.func if isinstance(pending.node, cst.Call) else None
            if leaf.node is tensor and isinstance(function, cst.Name) and function.value == "int":
                leaf.cuts = function
            yield leaf

    def leaf_at(self, part: Part, module: Module, tensor: cst.BaseExpression) -> Iterator[Leaf]:
        """A tensor in the text that is to be reduced."""
        values = self.plan.facts.values_of(tensor) or part.values
        known = [self.analysis.of((value,)) for value in values if not isinstance(value, Constant)]
        own = [one for one in known if one.kind is Kind.PART]
        degrees = {degree for one in own for degree in one.degrees}
        if len(degrees) != 1 or any(one.kind not in (Kind.PART, Kind.EQUAL) for one in known):
            reasons = [one.reason for one in known if one.kind is Kind.UNKNOWN]
            self.doubt(part, reasons[0] if reasons else "it adds sums to means over the batch")
            return
        for one in own:
            for pending in sorted(one.pending, key=place_of):
                yield from self.pending_leaf(part, pending)
        own_values = [value for value in values if self.analysis.of((value,)).kind is Kind.PART]
        degree = degrees.pop()
        whole = degree
        inner: frozenset[int] = frozenset()
        if not any(id(value) in self.trained for value in own_values):
            found = self.whole.of(tuple(own_values))
            if found.kind is Kind.PART and found.degree not in (None, degree):
                whole = found.degree or 0
                inner = frozenset(
                    id(leaf.node) for leaf in self.counts(None, tuple(own_values), part.event)
                )
        yield Leaf(
            module,
            tensor,
            degree,
            Change.MEAN,
            part.event,
            whole_degree=whole,
            inner=inner,
            evaluates=any(one.kind is Kind.EQUAL for one in known),
            plain=not any(one.tensor for one in own),
        )

    def tensor_leaf(self, part: Part) -> Iterator[Leaf]:
        """A tensor, or a number that was never one, that is reported as it is."""
        sources = {id(value): value for value in self.sources(part.values)}
        direct = any(id(value) in sources for value in part.values)
        if part.node is not None and self.is_reducible(part.node):
            if direct or not sources.keys() <= self.entered:
                yield from self.leaf_at(part, part.module, part.node)
            return
        places = list(self.entries(set(sources)))
        if not places:
            self.doubt(part, "it has no place in the text at which it could be reduced")
        self.entered |= sources.keys()
        for module, node in places:
            yield from self.leaf_at(part, module, node)

    def is_reducible(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a tensor, or else a number, whenever it is reached."""
        values = [
            value
            for value in self.plan.facts.values_of(node)
            if value not in (Constant(0), Constant(0.0))
        ]
        known = [self.analysis.of((value,)) for value in values]
        return bool(values) and (
            all(isinstance(value, Opaque) for value in values)
            and len({one.tensor for one in known}) == 1
        )

    def entries(self, sources: set[int]) -> Iterator[tuple[Module, cst.BaseExpression]]:
        """The arguments by which a tensor gets into the object or list that is reported."""
        seen: set[int] = set()
        for event in self.plan.facts.events:
            if event.kind != "call" or event.detached or not self.takes_in(event):
                continue
            for argument in event.arguments.items:
                node = argument.node
                if not isinstance(node, cst.BaseExpression) or id(node) in seen:
                    continue
                if any(id(value) in sources for value in argument.values):
                    if self.is_reducible(node):
                        seen.add(id(node))
                        yield event.module, node

    def sources(self, values: Values) -> Iterator[Value]:
        """The tensors that arithmetic has made the values of."""
        seen: set[int] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if self.analysis.of((value,)).kind is not Kind.PART:
                continue
            if isinstance(value, Opaque) and value.kind == "operation":
                for operand in value.operands:
                    stack.extend(operand)
                continue
            yield value

    def takes_in(self, event: Event) -> bool:
        """Whether a call puts what it is given into a container or an object of the script."""
        for callee in event.callee:
            if isinstance(callee, BoundMethod):
                return isinstance(callee.receiver, Instance) and not is_instance_of(
                    callee.receiver, self.plan.table.module_bases
                )
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                return callee.name in FILLING
        return False

    # Counts.

    def counts(
        self, part: Part | None, values: Values, event: Event | None = None
    ) -> Iterator[Leaf]:
        """The numbers of samples that values are made of, where they can be multiplied.

        Args:
            part: what they are reported as; None to only look.
            values: the values.
            event: what reports them, where there is no part.
        """
        seen: set[int] = set()
        stack: list[tuple[Value, Opaque | None]] = [(value, None) for value in values]
        asked = part or Part(values, None, self.plan.entry, event or self.plan.facts.events[0])
        while stack:
            value, user = stack.pop()
            if id(value) in seen or not isinstance(value, (Opaque, Sequence)):
                continue
            quantity = self.analysis.of((value,))
            if quantity.kind in (Kind.SAMPLE, Kind.SHAPE) or id(value) in self.trained:
                continue
            if isinstance(value, Opaque) and quantity.degree == 1 and is_count(value):
                yield from self.count_leaf(asked, value, user, quiet=part is None)
                continue
            seen.add(id(value))
            if isinstance(value, Opaque) and not computes(value):
                continue
            if part is not None and isinstance(value, Opaque) and leaves_tensors(value, quantity):
                continue
            inner = value if isinstance(value, Opaque) else user
            for group in parents(value):
                stack.extend((one, inner) for one in group)

    def count_leaf(
        self, part: Part, count: Opaque, user: Opaque | None, quiet: bool = False
    ) -> Iterator[Leaf]:
        """Where to multiply one number of samples; nothing is noted of others if `quiet`."""
        node = count.node if isinstance(count.node, cst.BaseExpression) else None
        module = count.module
        if node is None or is_bound(module, node):
            used = self.use_of(count, user) or self.part_itself(part, count)
            if used is None:
                if not quiet:
                    self.doubt(part, "it counts the samples of one process")
                return
            module, node = used
        known = [
            self.analysis.of((value,)) for value in self.plan.facts.values_of(node) or (count,)
        ]
        if any(one.kind is not Kind.EQUAL for one in known):
            if not quiet:
                self.doubt(part, "it counts the samples of one process")
            return
        evaluates = any(one.degree != 1 for one in known)
        yield Leaf(module, node, 1, Change.COUNT, part.event, evaluates=evaluates)

    def part_itself(self, part: Part, count: Opaque) -> tuple[Module, cst.BaseExpression] | None:
        """The reported expression, where it is the count itself."""
        if part.node is not None and any(value is count for value in part.values):
            return part.module, part.node
        return None

    def use_of(
        self, count: Opaque, user: Opaque | None
    ) -> tuple[Module, cst.BaseExpression] | None:
        """The operand of an operation, or the argument, that is a number of samples."""
        if user is None:
            return None
        for node in children(user.node):
            if isinstance(node, cst.BaseExpression):
                values = self.plan.facts.values_of(node)
                if any(value is count for value in values):
                    if all(self.analysis.of((value,)).degree == 1 for value in values):
                        return user.module, node
        for event in self.plan.facts.events:
            if event.kind != "call" or event.detached:
                continue
            if not any(contains(callee, user) for callee in event.callee):
                continue
            for argument in event.arguments.items:
                if isinstance(argument.node, cst.BaseExpression) and any(
                    value is count for value in argument.values
                ):
                    return event.module, argument.node
        return None

    # What becomes of the places.

    def settle(self, groups: list[Group]) -> None:
        """Decide what becomes of the places that some parts share.

        Where sums are only ever divided by counts, averages over the processes are enough for
        both. Else all of them become those of the global batch.
        """
        leaves = {id(leaf.node): leaf for group in groups for leaf in group.leaves}
        if any(not leaf.module.is_entry for leaf in leaves.values()):
            for group in groups:
                self.doubt(group.part, "it is made in another module of the project")
            return
        cut = any(leaf.cuts is not None and leaf.degree for leaf in leaves.values())
        fractions = all(is_fraction(value) for group in groups for value in group.part.values)
        if all(group.is_ratio for group in groups) and (fractions or not cut):
            self.keep(leaf for leaf in leaves.values() if leaf.change is not Change.COUNT)
            return
        growing = [leaf for leaf in leaves.values() if leaf.degree]
        agreed = {pending.node for pending in self.settled if pending.duty is Duty.NUMBER}
        fixed = [leaf for leaf in growing if leaf.degree != 1 or self.is_agreed(leaf, agreed)]
        if not fixed and not any(leaf.evaluates for leaf in growing):
            for leaf in leaves.values():
                leaf.whole = True
            self.keep(leaves.values())
            return
        ready = not any(leaf.plain for leaf in growing)
        if not fixed and ready and all(self.find_loader(leaf) for leaf in growing):
            for leaf in growing:
                shared_count = leaf.change is Change.COUNT
                leaf.change = Change.SHARED_COUNT if shared_count else Change.SHARED_SUM
            self.keep(leaves.values())
            return
        if cut and not fractions:
            for group in groups:
                self.doubt(group.part, "it counts the samples of one process")
            return
        self.keep(leaf for leaf in leaves.values() if leaf.change is not Change.COUNT)
        for group in groups:
            if not group.is_ratio:
                self.scale_part(group)

    def finish(self, leaf: Leaf) -> None:
        """Choose between mean and sum, now that it is known which counts become larger."""
        if leaf.change is not Change.MEAN:
            return
        scaled = {node for node in leaf.inner if self.is_scaled(node)}
        if scaled and scaled != leaf.inner:
            del self.found.leaves[id(leaf.node)]
            part = Part((), leaf.node, leaf.module, leaf.event)
            self.doubt(part, "some of the counts in it are those of all processes, some are not")
            return
        degree = leaf.whole_degree if scaled else leaf.degree
        power = degree if leaf.whole else degree - leaf.degree
        if power == 1:
            leaf.change = Change.SUM

    def is_scaled(self, node: int) -> bool:
        """Whether a count becomes that of all processes."""
        leaf = self.found.leaves.get(node)
        return leaf is not None and leaf.change is Change.COUNT

    def is_agreed(self, leaf: Leaf, agreed: set[cst.CSTNode]) -> bool:
        """Whether a number is averaged over the processes for the sake of a backward pass."""
        return any(node in agreed for node in leaf.module.source.parents(leaf.node))

    def scale_part(self, group: Group) -> None:
        """Multiply what is reported rather than what it is made of."""
        part, node = group.part, group.part.node
        values = self.plan.facts.values_of(node) if node is not None else ()
        known = [self.analysis.of((value,)) for value in values if value != Constant(0)]
        degree = group.quantity.degree
        if node is None or not degree or not known:
            self.doubt(part, "it counts the samples of one process")
        elif any(one.kind is not Kind.EQUAL or one.degree != degree for one in known):
            self.doubt(part, "it counts the samples of one process")
        else:
            self.keep([Leaf(part.module, node, degree, Change.COUNT, part.event)])

    def find_loader(self, leaf: Leaf) -> str:
        """The text of the loader around a place, where it tells whether its data is shared."""
        loaders = {id(loader.value): loader for loader in self.plan.loaders}
        for around in leaf.module.source.parents(leaf.node):
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                break
            if not isinstance(around, cst.For):
                continue
            node: cst.BaseExpression = around.iter
            while isinstance(node, cst.Call) and node.args and not node.args[0].star:
                node = node.args[0].value
            values = self.plan.facts.values_of(node)
            if not values or not is_simple(node):
                continue
            found = [loaders.get(id(value)) for value in values]
            if all(loader is not None and tells_shards(loader) for loader in found):
                leaf.loader = leaf.module.source.code(node)
                return leaf.loader
        return ""

    def keep(self, leaves: Iterable[Leaf]) -> None:
        """Note places that are to be changed."""
        for leaf in leaves:
            if self.on_some_ranks(leaf):
                part = Part((), leaf.node, leaf.module, leaf.event)
                self.doubt(part, "only some processes come here, and cannot agree on it here")
            else:
                self.found.leaves.setdefault(id(leaf.node), leaf)

    def on_some_ranks(self, leaf: Leaf) -> bool:
        """Whether only some processes reach a place."""
        if leaf.change in (Change.COUNT, Change.SHARED_COUNT):
            return False
        for around in (leaf.node, *leaf.module.source.parents(leaf.node)):
            for event in self.calls.get(id(around), ()):
                if self.ranks.some_ranks(event):
                    return True
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                break
        return False


def connected(groups: list[Group]) -> list[list[Group]]:
    """The groups, together with all that share a place with them, directly or through others."""
    found: list[tuple[set[int], list[Group]]] = []
    for group in groups:
        if not group.leaves:
            continue
        nodes, members = group.nodes, [group]
        apart = []
        for others in found:
            if others[0] & nodes:
                nodes = nodes | others[0]
                members = [*others[1], *members]
            else:
                apart.append(others)
        found = [*apart, (nodes, members)]
    return [members for _, members in found]


def is_fraction(value: Value, depth: int = 0) -> bool:
    """Whether a number is a quotient, so that it is no integer in any case."""
    if not isinstance(value, Opaque) or value.kind != "operation" or depth > DEEPEST:
        return isinstance(value, Constant) and isinstance(value.value, float)
    if value.name == "Divide":
        return True
    if value.name in ("Multiply", "Add", "Subtract", "Minus"):
        return any(
            bool(operand) and all(is_fraction(one, depth + 1) for one in operand)
            for operand in value.operands
        )
    return False


def tells_shards(loader: Loader) -> bool:
    """Whether a loader's sampler tells among how many processes its data is shared."""
    if loader.argument("batch_sampler") is not None or loader.event.arguments.unknown_because:
        return False
    sampler = loader.argument("sampler")
    if sampler is not None and sampler.values != (Constant(None),):
        return False
    dataset = loader.argument("dataset")
    return dataset is not None and not any(
        is_instance_of(value, frozenset({"torch.utils.data.IterableDataset"}))
        for value in dataset.values
    )


COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp)


def place_of(pending: Pending) -> tuple[str, int]:
    """Where something pending stands."""
    return pending.module.name, pending.module.source.span(pending.node).start


def displayed(node: cst.CSTNode, count: int) -> list[cst.BaseExpression | None]:
    """The expressions of a list, tuple or set display, where there are as many as elements."""
    if isinstance(node, (cst.List, cst.Tuple, cst.Set)) and len(node.elements) == count:
        return [
            element.value if isinstance(element, cst.Element) else None for element in node.elements
        ]
    return [None] * count


def formatted(node: cst.CSTNode) -> list[cst.BaseExpression | None]:
    """The expressions of an f-string, those of its formats included."""
    found: list[cst.BaseExpression | None] = []
    for part in node.parts if isinstance(node, cst.FormattedString) else ():
        if isinstance(part, cst.FormattedStringExpression):
            found.append(part.expression)
            for inner in part.format_spec or ():
                if isinstance(inner, cst.FormattedStringExpression):
                    found.append(inner.expression)
    return found


def shown_attributes(value: Opaque) -> dict[str, list[str]]:
    """The attributes that a format string shows, by the argument that they belong to."""
    found: dict[str, list[str]] = {}
    for name, receivers in method_calls(value):
        for receiver in receivers if name == "format" else ():
            if not (isinstance(receiver, Constant) and isinstance(receiver.value, str)):
                return {}
            automatic = 0
            for field_name in format_fields(receiver.value):
                first, *rest = re.split(r"[.\[]", field_name)
                if not first:
                    first, automatic = str(automatic), automatic + 1
                found.setdefault(first, []).append(rest[0].rstrip("]") if rest else "")
    return {first: names for first, names in found.items() if all(names)}


def format_fields(text: str) -> list[str]:
    """The names in the fields of a format string; none where it is no valid one."""
    try:
        return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        return []


def is_text(values: Values) -> bool:
    """Whether some of the values are text, as far as can be seen."""
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Constant):
            if isinstance(value.value, str):
                return True
        elif isinstance(value, Opaque) and value.kind == "operation":
            if value.name in ("format", "concatenate"):
                return True
            if value.name in ("Add", "Modulo"):
                stack.extend(value.operands[0])
        elif isinstance(value, Opaque) and value.kind == "call":
            if any(name in ("builtins.str", "builtins.repr") for name in called_names(value)):
                return True
            for name, receivers in method_calls(value):
                if name in TEXT_METHODS:
                    stack.extend(receivers)
    return False


def checks_for_nan(value: Value) -> bool:
    """Whether a value tells that something is not a number; processes agree on that elsewhere."""
    names = [*called_names(value), *(name for name, _ in method_calls(value))]
    return any(name.rpartition(".")[2] in ("isnan", "isinf", "isfinite") for name in names)


def is_count(value: Opaque) -> bool:
    """Whether a value is the number of samples itself."""
    if value.kind == "operation":
        return value.name == "len"
    if value.kind == "attribute":
        return value.name in ("batch_size", "num_graphs")
    if value.kind == "item":
        return True
    return any(
        isinstance(callee, Opaque) and callee.name in ("size", "numel", "nelement")
        for callee in value.callee
    ) or any(name in ("torch.numel", "numpy.size") for name in called_names(value))


def computes(value: Opaque) -> bool:
    """Whether a number is made of others by arithmetic."""
    if value.kind == "operation":
        return value.name not in ("iterate", "enumerate", "zip", "index", "isinstance")
    if value.kind == "call":
        return any(
            name.startswith(("builtins.", "math.", "numpy.")) for name in called_names(value)
        ) or any(name in ARITHMETIC for name, _ in method_calls(value))
    return value.kind in ("item", "attribute")


def leaves_tensors(value: Opaque, quantity: Quantity) -> bool:
    """Whether a value is a number that leaves the tensors right there."""
    return any(
        pending.duty is Duty.NUMBER and pending.node is value.node for pending in quantity.pending
    )


def is_bound(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression is bound to a name rather than used right there."""
    parent = module.source.parent(node)
    return isinstance(parent, (cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.Tuple, cst.Element))


def contains(callee: Value, user: Opaque) -> bool:
    """Whether an operation stands in the code of a function of the project."""
    function = callee.function if isinstance(callee, BoundMethod) else callee
    if not isinstance(function, Function) or function.module is not user.module:
        return False
    source = function.module.source
    span, inner = source.span(function.node), source.span(user.node)
    return span.contains(inner)


def returned(function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    """What a function returns, without functions inside it."""
    stack: list[cst.CSTNode] = [function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Return) and node.value is not None:
            yield node.value
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            stack.extend(children(node))
