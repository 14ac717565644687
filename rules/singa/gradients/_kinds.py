"""What a tensor of a device holds: rows of samples, a mean over them, or the same everywhere.

Each process has its samples of a batch on its device. What is computed from them row by row are
rows again, a loss is the mean over them, and parameters are the same in every process. Anything
else cannot be put together again, and says why.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Constant,
    External,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
)
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.singa._roles import constant_of, is_evaluation, model_calls
from transpile.rules.singa._vocabulary import (
    ALONG,
    ALONG_SEVERAL,
    BY_ROW,
    ELEMENTWISE,
    FROM_NUMPY,
    LAYERS,
    LAYERS_ALONG,
    LINEAR,
    MEAN_LOSSES,
    OF_MAPPINGS,
    SAME_NUMBERS,
    STATES,
    TENSOR,
)

ROWS, MEAN, SAME = "rows", "mean", "same"


@dataclass(frozen=True)
class Kind:
    """What a tensor holds; `why` says why that cannot be told."""

    word: str
    why: str = ""


class Kinds:
    """Tells what tensors hold, and which tensors take in the data.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[int, Kind | None] = {}
        self.leaves: dict[int, Opaque] = {}

    def of(self, values: Values) -> Kind:
        """What an expression holds, whatever the way to it."""
        found: list[Kind] = []
        outputs = evaluated(self.plan)
        values = tuple(one for value in values for one in outputs.get(id(value), (value,)))
        for value in tensors_among(values):
            kind = self.of_value(value)
            if kind is not None and kind not in found:
                found.append(kind)
        unknown = [kind for kind in found if kind.why]
        if unknown:
            return unknown[0]
        words = {kind.word for kind in found}
        if len(words) == 1:
            return found[0]
        if not words:
            return Kind("", "where it comes from cannot be followed")
        return Kind("", f"it may hold {' or '.join(sorted(words))}")

    def of_value(self, value: Value) -> Kind | None:
        """What one value holds; None while that is being found out."""
        if isinstance(value, (Constant, External)):
            return Kind(SAME)
        if not isinstance(value, Opaque):
            if isinstance(value, Sequence):
                return Kind("", "a list of tensors stands where a tensor should")
            return Kind("", getattr(value, "reason", "it is no tensor that can be followed"))
        if id(value) not in self.known:
            self.known[id(value)] = None
            self.known[id(value)] = self.found(value)
        return self.known[id(value)]

    def found(self, value: Opaque) -> Kind:
        """See :meth:`of_value`."""
        if value.kind == "call":
            return self.of_call(value)
        if value.kind == "operation":
            return self.of_operation(value)
        if value.kind == "attribute":
            if self.of(value.operands[0]).word in (ROWS, MEAN):
                return Kind("", f"`.{value.name}` of a tensor is not followed")
            return Kind(SAME)
        if value.kind in ("item", "element"):
            return self.of_item(value)
        return Kind("", "where it comes from cannot be followed")

    def of_item(self, value: Opaque) -> Kind:
        """What an element of several outputs holds."""
        index = constant_of(value.index)
        if not value.index:
            index = int(value.name) if value.name.isdigit() else value.name or ...
        outputs = [
            one
            for behind in value.operands[0]
            for one in (behind.inner if isinstance(behind, Opaque) else (behind,))
            if isinstance(one, (Sequence, Mapping))
        ]
        found = [values for one in outputs for values in element_of(one, index)]
        if found:
            return self.of(join(*found))
        inner = self.of(value.operands[0])
        if inner.word == SAME or inner.why:
            return inner
        return Kind("", "a part of a tensor is taken")

    def of_call(self, value: Opaque) -> Kind:
        """What a call gives."""
        forward = evaluated(self.plan).get(id(value.node))
        if forward:
            return self.of(forward)
        for name in called_names(value):
            return self.of_function(name, value)
        for callee in value.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in SAME_NUMBERS:
                    return self.of(callee.operands[0])
                if callee.name in STATES:
                    return Kind(SAME)
                if callee.name in OF_MAPPINGS and self.of(callee.operands[0]).word == SAME:
                    return Kind(SAME)
                return Kind("", f"nothing is known of `.{callee.name}`")
            for name in called_names(callee):
                return self.of_layer(name, callee, value)
        if value.inner:
            return self.of(value.inner)
        return Kind("", "what is called cannot be followed")

    def of_function(self, name: str, value: Opaque) -> Kind:
        """What a function outside the project gives."""
        if name in (TENSOR, FROM_NUMPY):
            stores = value.arguments.get("stores_grad", 5)
            said = stores.values if name == TENSOR and stores is not None else ()
            if True in (constant_of(said), constant_of(value.attributes.get("stores_grad", ()))):
                return Kind(SAME)
            self.leaves[id(value)] = value
            return Kind(ROWS)
        given = list(self.given(value.arguments))
        if name in MEAN_LOSSES:
            return self.mean_of(name, given)
        if name in ALONG:
            return self.along(name, value.arguments, given, ALONG[name])
        if name in ALONG_SEVERAL:
            return self.along(name, value.arguments, given, (*ALONG_SEVERAL[name], None))
        if name == "singa.autograd.reshape":
            return self.reshaped(value.arguments)
        if name in BY_ROW:
            return by_row(name, given)
        if not name.startswith("singa.") and not {ROWS, MEAN} & {kind.word for kind in given}:
            return Kind(SAME)
        return Kind("", f"nothing is known of `{short(name)}`")

    def of_layer(self, name: str, maker: Value, value: Opaque) -> Kind:
        """What the call of a layer gives."""
        given = list(self.given(value.arguments))
        if name in MEAN_LOSSES:
            return self.mean_of(name, given)
        if name in LAYERS_ALONG:
            assert isinstance(maker, Opaque)
            return self.along(name, maker.arguments, given, LAYERS_ALONG[name])
        if name == "singa.layer.Reshape":
            return self.reshaped(value.arguments)
        if name in LAYERS:
            return by_row(name, given)
        return Kind("", f"nothing is known of `{short(name)}`")

    def given(self, arguments: Arguments) -> Iterator[Kind]:
        """What the arguments of a call hold, those of lists one by one."""
        for item in arguments.items:
            lists = [value for value in item.values if isinstance(value, Sequence)]
            if lists:
                for each in lists:
                    yield from (self.of(values) for values in (*each.elements, each.rest) if values)
            elif any(isinstance(value, (Opaque, Instance)) for value in item.values):
                yield self.of(item.values)
        if arguments.unknown_because:
            yield Kind("", arguments.unknown_because)

    def mean_of(self, name: str, given: list[Kind]) -> Kind:
        """What a loss gives."""
        for kind in given:
            if kind.why:
                return kind
        if any(kind.word == ROWS for kind in given):
            return (
                Kind(MEAN)
                if all(kind.word == ROWS for kind in given)
                else Kind("", f"`{short(name)}` compares samples with something else")
            )
        return Kind(SAME)

    def along(
        self,
        name: str,
        arguments: Arguments,
        given: list[Kind],
        where: tuple[str, int, int | None],
    ) -> Kind:
        """What a function along an axis gives."""
        keyword, position, default = where
        axis = arguments.get(keyword, position)
        axes = list(axes_of(axis)) if axis is not None else [default]
        if all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in axes):
            return by_row(name, given)
        kind = by_row(name, given)
        return kind if kind.word == SAME else Kind("", f"`{short(name)}` may couple the samples")

    def reshaped(self, arguments: Arguments) -> Kind:
        """What another shape makes of a tensor: rows stay rows behind a first length of -1."""
        first, shape = arguments.get("x", 0), arguments.get("shape", 1)
        kind = self.of(first.values) if first is not None else Kind("", "its input is not seen")
        if kind.word == SAME or kind.why:
            return kind
        for value in shape.values if shape is not None else ():
            if isinstance(value, Sequence) and value.elements:
                first_length = value.elements[0]
                if constant_of(first_length) == -1 or self.counts_rows(first_length):
                    return kind
        return Kind(
            "",
            "`reshape` may couple the samples: only a first length of -1 or x.shape[0] is followed",
        )

    def counts_rows(self, values: Values) -> bool:
        """Whether a number is the first length of rows, as in ``x.shape[0]``."""
        return bool(values) and all(
            isinstance(value, Opaque)
            and value.kind == "item"
            and constant_of(value.index) == 0
            and any(
                isinstance(shape, Opaque)
                and shape.name == "shape"
                and self.of(shape.operands[0]).word == ROWS
                for shape in value.operands[0]
            )
            for value in values
        )

    def of_operation(self, value: Opaque) -> Kind:
        """What an operator gives."""
        kinds = [self.of(operands) for operands in value.operands if operands]
        for kind in kinds:
            if kind.why:
                return kind
        words = {kind.word for kind in kinds}
        if words <= {SAME}:
            return Kind(SAME)
        if MEAN in words:
            linear = value.name in LINEAR and ROWS not in words
            both = sum(kind.word == MEAN for kind in kinds) > 1
            if linear and not (both and value.name in ("Multiply", "Divide")):
                if value.name == "Divide" and kinds[-1].word == MEAN:
                    return Kind("", "it divides by a mean over the batch")
                return Kind(MEAN)
            return Kind("", "it is no linear function of a mean over the batch")
        if value.name in ELEMENTWISE:
            return Kind(ROWS)
        return Kind("", f"nothing is known of the operator `{value.name}` on tensors")


def element_of(outputs: Sequence | Mapping, index: object) -> Iterator[Values]:
    """What several outputs have at an index, or under a key; nothing where that is not seen."""
    if isinstance(outputs, Mapping):
        entry = outputs.entries.get(index)
        if entry is not None:
            yield entry.values
    elif isinstance(index, int) and -len(outputs.elements) <= index < len(outputs.elements):
        yield outputs.elements[index]


@query
def evaluated(plan: Plan) -> dict[int, Values]:
    """What ``forward`` gives where the call of a model gives too little to train.

    By the call, and by what it would have been if the model trained.
    """
    found: dict[int, Values] = {}
    events = [event for event in model_calls(plan) if is_evaluation(event)]
    trained = {
        id(value)
        for event in model_calls(plan)
        if not is_evaluation(event)
        for value in event.result
    }
    sites = {id(event.node) for event in events}
    for event in plan.facts.reached_calls:
        inside = [id(frame.node) for frame in event.calls() if id(frame.node) in sites]
        if inside and any(
            isinstance(callee, BoundMethod) and callee.function.name == "forward"
            for callee in event.callee
        ):
            found[inside[-1]] = join(found.get(inside[-1], ()), event.result)
    for event in events:
        for value in event.result if id(event.node) in found else ():
            if id(value) not in trained:
                found[id(value)] = found[id(event.node)]
    return found


def tensors_among(values: Values) -> Values:
    """The alternatives that may be tensors: not what several outputs would be, unpacked."""
    kept = tuple(value for value in values if not isinstance(value, Sequence))
    return kept or values


def axes_of(argument: Argument) -> Iterator[object]:
    """The axes that an argument names."""
    for value in argument.values:
        if isinstance(value, Sequence):
            yield from (constant_of(element) for element in value.elements)
        else:
            yield value.value if isinstance(value, Constant) else ...


def by_row(name: str, given: list[Kind]) -> Kind:
    """What a function gives that takes each row by itself."""
    for kind in given:
        if kind.why:
            return kind
    words = {kind.word for kind in given}
    if MEAN in words:
        return Kind("", f"`{short(name)}` takes a mean over the batch")
    return Kind(ROWS if ROWS in words else SAME)


def short(name: str) -> str:
    """A dotted name without the package."""
    return name.removeprefix("singa.")


@query
def kinds_of(plan: Plan) -> Kinds:
    """The kinds of all tensors of a plan."""
    return Kinds(plan)
