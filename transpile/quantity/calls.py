"""The quantities of what calls give."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import libcst as cst

from transpile.facts.values import (
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Partial,
    Sequence,
    Unknown,
    Value,
    Values,
    only_constant,
)
from transpile.facts.walk import returned
from transpile.plan.graph import called_names, is_instance_of, origin
from transpile.plan.model import Plan
from transpile.plan.vocabulary import Loss
from transpile.records import replace

from . import algebra, domain
from .domain import Kind, Quantity
from .further import argued, settings
from .keepers import GIVING, HANDED_ON, TABLES, keepers_of
from .losses.calls import Losses
from .models.axes import goes_along
from .models.chains import chain, is_time_first, may_be
from .models.held_layers import mixes, passes_of, replaces_passes
from .numbers import guarded
from .sample_axis.shapes import Given
from .tensors.functions import Tensors

BUILTIN_NUMBERS = frozenset({"float", "int", "round", "complex"})
#: Those that make a whole number of it.
ROUNDED = frozenset({"int", "round"})
SOUGHT = "it looks for a value in a list of those of one process's share"


class Calls(Tensors, Losses):
    """The part of the analysis that knows calls."""

    def call(self, value: Opaque) -> Quantity:
        """What a call gives, over all that may be called."""
        callees = value.callee
        if any(isinstance(one, Unknown) for one in callees):
            # Too many models to choose from are still models.
            models = tuple(one for one in callees if self.is_layer(origin(one)))
            callees = models or callees
        # What is None until it is made is called once it is made.
        callees = tuple(one for one in callees if not isinstance(one, Constant)) or callees
        found = domain.NOTHING
        for callee in callees:
            found = algebra.join(found, self.call_one(value, callee))
        return found

    def call_one(self, value: Opaque, callee: Value) -> Quantity:
        """What a call of one alternative gives."""
        if isinstance(callee, External):
            return self.external(value, callee.name)
        if isinstance(callee, Instance):
            inherited = None if value.inner else self.inherited_loss(callee)
            if inherited is not None:
                return self.loss(value, inherited, value)
            if not value.inner and self.vocabulary.layers.rows is not None:
                return self.layer(value, callee)
            return self.instance(value, callee)
        if isinstance(callee, (BoundMethod, Function, Partial)):
            return (
                self.look(value.inner) if value.inner else self.nothing_known(value, "a function")
            )
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            return self.method(value, callee)
        if isinstance(callee, Opaque):
            return self.object(value, callee)
        return self.nothing_known(value, "what is called")

    def method(self, value: Opaque, callee: Opaque) -> Quantity:
        """A call of a method of something that is no object of the project's."""
        word = callee.name
        receivers = callee.operands[0]
        if word == "forward" and receivers and all(map(self.is_loss, receivers)):
            found = domain.NOTHING
            for one in receivers:
                assert isinstance(one, Opaque)
                found = algebra.join(found, self.object(value, one))
            return found
        if any(is_instance_of(one, self.plan.table.module_bases) for one in receivers) or any(
            self.is_layer(origin(one)) and self.is_object(one) and not self.is_tensor(one)
            for one in receivers
        ):
            return self.model_method(value, word)
        if word == "step" and value.arguments.items and self.is_plain_optimizer(receivers):
            return self.look(given_back(value, self.plan))
        receiver = self.look(receivers)
        kept = self.look(tuple(keepers_of(receivers)))
        if kept.kind in (Kind.SAMPLE, Kind.PART, Kind.UNKNOWN) or kept.pending:
            plain = word in GIVING or kept.kind is Kind.UNKNOWN
            return kept if plain else domain.unknown(HANDED_ON, whole=True)
        if any(isinstance(one, (Class, Instance)) for one in receivers):
            owner = next((f"{one.name}." for one in receivers if isinstance(one, Class)), "")
            return self.nothing_known(value, f"'{owner}{word}'")
        if all(isinstance(one, (Sequence, Mapping)) for one in receivers) and receivers:
            if word not in ("index", "count"):
                return receiver
            alike = receiver.kind in (Kind.NOTHING, Kind.EQUAL) and not receiver.pending
            return domain.equal(tensor=False) if alike else domain.unknown(SOUGHT, whole=True)
        if receiver.independent and not any(self.is_tensor(one) for one in receivers):
            # A scaler of gradients, a generator of random numbers, a parser, a writer.
            if word == "scale" and value.arguments.items:
                return self.look(value.arguments.items[0].values)
        if receiver.independent and self.laid_by_count(word, value, receivers):
            return domain.sample(content="place")
        return self.applied(word, receiver, value, self.given_to(value, 0, word))

    def mean_of(self, given: list[Quantity]) -> Quantity:
        """A mean over the samples that a function is given."""
        return algebra.average(algebra.nonlinear("a mean", *given))

    def inherited_loss(self, callee: Instance) -> Loss | None:
        """The loss of the framework whose ``forward`` a class of the project leaves as it is.

        Only of those that reduce in one way: how another one is set up stands elsewhere.
        """
        for name in callee.cls.external_bases():
            found = self.vocabulary.loss_classes.get(name)
            if found is not None and "reduction" not in found.settings:
                return found
        return None

    def is_loss(self, value: Value) -> bool:
        """Whether a value is the object of a loss that the framework has."""
        behind = origin(value)
        return isinstance(behind, Opaque) and any(
            name in self.vocabulary.loss_classes for name in called_names(behind)
        )

    def is_plain_optimizer(self, values: Values) -> bool:
        """Whether values are optimizers that hand on the loss of a closure as it is."""
        names = [name for one in values for name in called_names(origin(one))]
        return any(map(self.plan.table.is_optimizer, names)) and not any(
            name.endswith(self.vocabulary.searching) for name in names
        )

    def object(self, value: Opaque, callee: Opaque) -> Quantity:
        """A call of an object that a library made."""
        behind = origin(callee)
        for name in called_names(behind):
            signature = self.vocabulary.loss_classes.get(name)
            if signature is not None and isinstance(behind, Opaque):
                return self.loss(value, signature, behind)
        if self.is_layer(behind):
            unknown = self.unknown_part(behind)
            if unknown:
                return replace(self.nothing_known(value, unknown), certain=True)
            return self.layer(value, behind)
        names = called_names(behind)
        if any(name.endswith(".namedtuple") for name in names):
            return reduce(algebra.join, self.given(value), domain.NOTHING)
        return self.nothing_known(value, names[0] if names else "what is called")

    def layer(self, value: Opaque, made: Value) -> Quantity:
        """A call of a layer of a library."""
        if self.vocabulary.layers.rows is None and id(made) in self.models:
            # Of models rules tell by themselves what they do.
            return self.from_model(domain.NOTHING, value)
        if self.vocabulary.layers.rows is not None and replaces_passes(self.plan):
            return replace(self.nothing_known(value, "the pass of a layer, replaced"), certain=True)
        items = value.arguments.items
        found = self.through(value, made, self.look(items[0].values if items else ()))
        if found is None:
            found = self.from_model(domain.NOTHING, value)
        if isinstance(made, Opaque) and made.kind == "call":
            name = next(iter(called_names(made)), "a layer").rpartition(".")[2]
            found = argued(self, name, found, settings(made))
        axes = self.vocabulary.layers.axes
        least = [axes.get(name.rpartition(".")[2], 0) for name in called_names(made)]
        if found.kind is Kind.SAMPLE and least:
            return replace(found, rank=max(found.rank, min(least)))
        return found

    def through(
        self, value: Opaque, made: Value, tensor: Quantity, around: frozenset[int] = frozenset()
    ) -> Quantity | None:
        """What a layer makes of a tensor; None where it leaves samples as they are.

        Args:
            value: the call.
            made: the layer.
            tensor: what the layer is given.
            around: the identities of the containers that the layer is in, itself in a loop.
        """
        layers = self.vocabulary.layers
        if layers.rows is not None and isinstance(made, Instance) and tensor.kind is Kind.SAMPLE:
            if next(passes_of(self.plan, made), None) is None:
                # Its pass is that of the container that its class is derived from.
                return None if id(made) in around else self.chained(value, made, tensor, around)
            mixed = mixes(self.plan, made)
            return domain.unknown(mixed) if mixed else self.passed(made, tensor)
        if layers.rows is not None and isinstance(made, Opaque) and not called_names(made):
            # Any part of what holds it: ``for part in self.parts``.
            parts = [
                self.through(value, part, tensor, around | {id(made)})
                for part in may_be(self.plan, made)
                if id(part) not in around and tensor.kind is Kind.SAMPLE
            ]
            return next((one for one in parts if one and one.kind is Kind.UNKNOWN), None)
        for name in called_names(made):
            if not layers.makes(name):
                continue
            word = name.rpartition(".")[2]
            operation = layers.operations.get(word)
            if operation is not None and isinstance(made, Opaque):
                source, offset = (made, 0) if operation.when_made else (value, 1)
                said = self.given_to(source, offset, operation.word)
                if operation.order:
                    said = replace(said, order=operation.order)
                if operation.default is not None:
                    said = replace(said, default=operation.default)
                tensor = replace(tensor, rank=max(tensor.rank, operation.rank))
                return self.applied(operation.word, tensor, value, said, name)
            if word in layers.by_name and isinstance(made, Opaque) and made.arguments.items:
                called = only_constant(made.arguments.items[0].values)
                if called is not None and isinstance(called.value, str):
                    return self.applied(called.value, tensor, value, Given(Arguments(), 0))
            when = layers.time_first.get(word)
            if when is not None and tensor.dim == 0 and is_time_first(made, when):
                return domain.unknown(f"'{word}' takes the samples for time")
            given = [tensor, *self.given(value)[1:]]
            if isinstance(made, Opaque) and goes_along(layers, word, made, given):
                return domain.unknown(f"'{word}' goes along the samples")
            if word in layers.containers:
                return None if id(made) in around else self.chained(value, made, tensor, around)
            if layers.rows is not None and word not in layers.rows:
                return self.nothing_known(value, name)
        return None

    def passed(self, made: Instance, tensor: Quantity) -> Quantity | None:
        """What the pass of a layer of the project makes of samples; None where it leaves them."""
        found = self.of_pass(made, tensor.dim or 0)
        if found.kind is Kind.UNKNOWN:
            return domain.unknown(f"{found.reason}, in '{made.cls.name}'")
        if found.kind is Kind.PART or found.coupled or found.pending:
            return domain.unknown(f"{algebra.STATISTIC} in '{made.cls.name}'")
        moved = found.kind is Kind.SAMPLE and found.dim != tensor.dim
        return replace(tensor, dim=found.dim) if moved else None

    def chained(
        self, value: Opaque, made: Value, tensor: Quantity, around: frozenset[int]
    ) -> Quantity | None:
        """What layers make of a tensor one after the other; None where all leave samples alone."""
        last: Quantity | None = None
        for part in chain(self.plan, made):
            found = self.through(value, part, tensor, around | {id(made)})
            if found is not None and found.kind is not Kind.SAMPLE:
                return found
            if found is not None:
                last = tensor = found
        return last

    def external(self, value: Opaque, name: str) -> Quantity:
        """A call of something outside the project by its name."""
        table, vocabulary = self.plan.table, self.vocabulary
        package, _, word = name.rpartition(".")
        if name in table.world_size_calls:
            return domain.equal(0 if self.whole else -1, tensor=False)
        if package == vocabulary.collectives or name in table.rank_calls:
            return domain.equal(tensor=False)
        signature = vocabulary.losses.get(name)
        if signature is not None:
            return self.loss(value, signature, value)
        if name.endswith(vocabulary.scaling) and value.arguments.items:
            return self.look(value.arguments.items[0].values)
        if name in vocabulary.gradients:
            return self.gradients(value)
        if package == "builtins":
            return self.builtin(value, word)
        if name in vocabulary.means:
            return self.mean_of(self.given(value))
        if name in vocabulary.weights:
            return domain.equal(gradient=True)
        known = vocabulary.operations_first and vocabulary.operation(word)
        if name.startswith(vocabulary.layer_functions) and not known:
            if vocabulary.layer_words and word not in vocabulary.layer_words:
                return self.nothing_known(value, name)
            return self.from_model(domain.NOTHING, value)
        if name.startswith(vocabulary.distributions):
            return algebra.nonlinear("a distribution", *self.given(value))
        if name.startswith(vocabulary.agreed):
            return domain.equal(tensor=False)
        if word in ("contiguous_format", "Generator"):
            return domain.equal(tensor=False)
        if name.startswith(vocabulary.packages):
            first = value.arguments.get("input", 0) or (
                value.arguments.items[0] if value.arguments.items else None
            )
            tensor = self.look(first.values if first is not None else ())
            found = self.applied(word, tensor, value, self.given_to(value, 1, word), name)
            numeric = name.startswith(("numpy.", "math.")) and found.kind is not Kind.SHAPE
            return replace(found, tensor=False) if numeric else found
        if name in TABLES:
            return reduce(algebra.join, self.given(value), domain.NOTHING)
        return self.nothing_known(value, name)

    def builtin(self, value: Opaque, word: str) -> Quantity:
        """A builtin function."""
        given = self.given(value)
        first = given[0] if given else domain.NOTHING
        if word in BUILTIN_NUMBERS:
            if word in ROUNDED and first.kind is Kind.EQUAL and first.pending:
                return domain.unknown(
                    "it rounds a number that is averaged over the processes", whole=True
                )
            return self.as_number(first, value)
        if word == "sum":
            return self.summed(value.arguments.items[0].values) if given else domain.NOTHING
        if word in ("max", "min", "sorted") and value.arguments.keyword("key") is not None:
            # The order is that of what the function gives for each.
            keys = self.look(given_back(value, self.plan))
            return algebra.nonlinear(f"'{word}'", *given, keys)
        if word in ("max", "min") and len(given) > 1:
            return guarded(word, given) or algebra.nonlinear(word, *given)
        if word == "pow" and len(given) == 2:
            return self.power(
                first, value.arguments.items[1].values, value.arguments.items[0].values
            )
        if word in ("range", "slice", "hash", "id", "callable", "hasattr", "type"):
            return domain.equal(tensor=False)
        if word in ("str", "repr", "format", "print", "ord", "chr"):
            return algebra.nonlinear("the text", *given)
        if word in ("abs", "divmod", "max", "min", "any", "all"):
            if first.kind is Kind.SAMPLE and word != "abs":
                return domain.unknown(f"{word} over the samples of a batch", whole=True)
            return algebra.nonlinear(word, *given)
        return self.nothing_known(value, f"'{word}'")


def given_back(value: Opaque, plan: Plan) -> Values:
    """What the closures that a call is handed return."""
    return tuple(
        one
        for argument in value.arguments.items
        for function in argument.values
        if isinstance(function, Function)
        for node in results(function)
        for one in plan.facts.values_of(node)
    )


def results(function: Function) -> Iterable[cst.BaseExpression]:
    """The expressions whose values a function gives."""
    if isinstance(function.node, cst.Lambda):
        return (function.node.body,)
    return returned(function.node)
