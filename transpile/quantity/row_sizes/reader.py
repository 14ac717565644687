"""The sizes of tensors, by what data is made of, by layers and by earlier views.

A view that lets the number of rows follow keeps the samples apart as long as its rows are no longer
than theirs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import libcst as cst

from transpile.facts.values import (
    Constant,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, origin

from ..domain import Kind
from ..operations import (
    ADDITIONS,
    GUARDS,
    LIKE,
    LISTING,
    MASKS,
    MATRIX_PRODUCTS,
    PRODUCTS,
    QUOTIENTS,
    words,
)
from ..sample_axis.axes import KEEPING, OPERATORS, REDUCING, SIZED, applied
from ..sample_axis.shapes import Given, integer
from .arithmetic import (
    ONE_EACH,
    Rows,
    Shape,
    Size,
    broadcast,
    divided,
    flattened,
    place,
    pooled,
    reduced,
    total,
    turned,
    with_unit,
)
from .asked import Asked, listed_sizes
from .layers import POOLS, through
from .losses import given_by, losses_of
from .samples import is_asked_for, puts_together, sample_of
from .tables import shape_of

if TYPE_CHECKING:
    from ..analysis import Supposing

#: How far values are followed.
DEPTH = 60
#: Go element by element over all tensors that they are given.
PAIRED = words("where maximum minimum fmax fmin lerp atan2 xlogy addcmul addcdiv")
#: Give numbers of a shape that is told first, or by a keyword.
DRAWN = frozenset({"standard_normal", "random_sample", "random", "full"})
#: Give numbers of a shape behind other numbers, by how many these are at least.
DRAWN_BETWEEN = {"normal": 2, "uniform": 2, "randint": 1, "integers": 1}
#: Operators that give numbers; the others tell what is true.
ARITHMETIC = frozenset(
    {"Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Modulo", "Power", "Minus", "len"}
)
SPREADS = frozenset({"expand", "repeat", "tile", "repeat_interleave"})


def rows_of_view(
    analysis: Supposing, value: Opaque, tensor: Values, given: Given
) -> Fraction | None:
    """How many rows a view of samples has for each of them; None if unknown.

    Args:
        analysis: tells which values are batches.
        value: the call that makes the view.
        tensor: what is viewed.
        given: the sizes.
    """
    shape = Reader(analysis).viewed(value, tensor, given, DEPTH)
    return shape[0].each if shape and isinstance(shape[0], Rows) else None


class Reader(Asked):
    """Tells the sizes of tensors by what they are made of.

    Args:
        analysis: tells which values are batches, and of which loader.
    """

    def __init__(self, analysis: Supposing) -> None:
        super().__init__(analysis)
        self.known: dict[int, Shape | None] = {}

    def of(self, values: Values, depth: int) -> Shape | None:
        """The sizes that all of several values have; those that differ are unknown."""
        several = [self.of_one(value, depth) for value in values]
        known = [shape for shape in several if shape is not None]
        if not known or len(known) < len(several) or len({len(shape) for shape in known}) > 1:
            return None
        columns = zip(*known, strict=True)
        return tuple(column[0] if len(set(column)) == 1 else None for column in columns)

    def of_one(self, value: Value, depth: int) -> Shape | None:
        """The sizes of a value; a number has none."""
        if isinstance(value, Constant):
            return ()
        if isinstance(value, Sequence) and depth and not value.rest:
            inner = {self.of(part, depth - 1) for part in value.elements}
            only = inner.pop() if len(inner) == 1 else None
            return (len(value.elements), *only) if only is not None else None
        key = id(value)
        if key not in self.known:
            # What is made of itself, in a loop, is not known by itself.
            self.known[key] = None
            if isinstance(value, Opaque) and depth:
                self.known[key] = self.made(value, depth - 1)
        return self.known[key]

    def made(self, value: Opaque, depth: int) -> Shape | None:
        """The sizes of what is made of others."""
        table = shape_of(value, lambda values: self.of(values, depth))
        if table is not None:
            return table
        if value.kind == "operation":
            return self.operated(value, depth)
        if value.kind in ("item", "element"):
            found = self.column(value, depth)
            if found is not None or value.kind == "element":
                return found
            if isinstance(value.node, cst.Subscript):
                return self.picked(value, value.node, depth)
            return self.pieces(value, depth)
        if value.kind == "attribute":
            base = self.of(value.operands[0], depth)
            if base is not None and value.name in ("T", "mT"):
                return base[::-1] if value.name == "T" else (*base[:-2], *base[:-3:-1])
            return base if value.name in ("data", "grad", "real") else None
        if value.kind != "call":
            return None
        if value.inner and all(isinstance(one, (Function, Instance)) for one in value.callee):
            return self.of(value.inner, depth)
        losses = list(losses_of(self.analysis, value))
        if losses:
            shapes = {
                given_by(*each, value, lambda values: self.of(values, depth)) for each in losses
            }
            return shapes.pop() if len(shapes) == 1 else None
        first = value.arguments.positional()[:1]
        layers = [origin(one) for one in value.callee]
        if first and layers and all(map(self.is_layer, layers)):
            shape = self.of(first[0].values, depth)
            given = {through(self.analysis.vocabulary.layers, layer, shape) for layer in layers}
            return given.pop() if len(given) == 1 else None
        found_by_words = {
            self.called(value, *each, depth) for each in applied(self.analysis, value)
        }
        if not found_by_words:
            found_by_words = {self.array(name, value, depth) for name in called_names(value)}
        return found_by_words.pop() if len(found_by_words) == 1 else None

    def operated(self, value: Opaque, depth: int) -> Shape | None:
        """The sizes of what an operator gives."""
        if value.name in ("Minus", "Plus", "Not", "BitInvert"):
            return self.of(value.operands[0], depth)
        if value.name == "MatrixMultiply" and len(value.operands) == 2:
            return self.product(*value.operands, depth)
        if value.name in OPERATORS:
            return self.combined(list(value.operands), depth)
        return () if value.name in ("len", "index") else None

    def combined(self, several: list[Values], depth: int) -> Shape | None:
        """The sizes of what goes element by element over several tensors."""
        found: Shape = ()
        for values in several:
            shape = self.of(values, depth)
            if shape is None:
                return None
            found = broadcast(found, shape)
        return found

    def product(self, first: Values, second: Values, depth: int) -> Shape | None:
        """The sizes of the product of two matrices."""
        one, other = self.of(first, depth), self.of(second, depth)
        if one is None or other is None or len(one) < 2 or len(other) < 2:
            return None
        return (*one[:-1], other[-1])

    def column(self, value: Opaque, depth: int) -> Shape | None:
        """The sizes of a part of a batch, or of a batch that is one tensor."""
        whole = (value,) if value.kind == "element" else value.operands[0]
        source = self.analysis.loader_of(whole)
        if source is None or not puts_together(source):
            return None
        made = source.argument("dataset")
        if made is None or len(made.values) != 1:
            return None
        part: object = None
        if value.kind == "item":
            only = value.index[0] if len(value.index) == 1 else None
            if not isinstance(only, Constant):
                return None
            part = only.value
        plan = self.analysis.plan
        shape = sample_of(plan, lambda each: self.of(each, depth), made.values[0], part)
        return (ONE_EACH, *shape) if shape is not None else None

    def picked(self, value: Opaque, node: cst.Subscript, depth: int) -> Shape | None:
        """The sizes of what an index picks."""
        base = self.of(value.operands[0], depth)
        if base is None:
            return None
        left, found = list(base), list[Size]()
        for element in node.slice:
            part = element.slice
            inner = part.value if isinstance(part, cst.Index) else None
            if isinstance(inner, cst.Name) and inner.value == "None":
                found.append(1)
                continue
            if isinstance(inner, cst.Ellipsis):
                behind = len(node.slice) - len(found) - 1
                found, left = [*found, *left[: len(left) - behind]], left[len(left) - behind :]
                continue
            if not left:
                return None
            size = left.pop(0)
            if isinstance(part, cst.Slice):
                found.append(self.sliced(size, part))
            elif inner is not None and not self.is_number(inner):
                # Several are picked, of as many axes as the index has.
                values = self.analysis.plan.facts.values_of(inner)
                index = self.of(values, depth)
                if any(map(self.is_mask, values)):
                    # Of a mask of several axes, what is left has one in their place.
                    index = (None,) if index is not None and len(index) == 1 else None
                    if index is None:
                        return None
                if found and index is None:
                    return None
                found += [None] if index is None else index
        if found and found[0] is None and self.is_cut(value):
            found[0] = ONE_EACH
        return (*found, *left)

    def sliced(self, size: Size, part: cst.Slice) -> Size:
        """The size of what a slice takes of an axis."""
        nodes = (part.lower, part.upper, part.step)
        if not any(nodes):
            return size
        values_of = self.analysis.plan.facts.values_of
        bounds = [None if node is None else integer(values_of(node)) for node in nodes]
        told = all(
            node is None or bound is not None for node, bound in zip(nodes, bounds, strict=True)
        )
        return len(range(size)[slice(*bounds)]) if isinstance(size, int) and told else None

    def is_number(self, index: cst.BaseExpression) -> bool:
        """Whether an index picks one: it is a number, or what a data set is asked for."""
        values = self.analysis.plan.facts.values_of(index)
        return integer(values) is not None or (bool(values) and all(map(is_asked_for, values)))

    def is_mask(self, index: Value) -> bool:
        """Whether an index tells for each entry whether it is taken."""
        if not isinstance(index, Opaque):
            return False
        if index.kind == "operation":
            return index.name not in ARITHMETIC
        found = self.analysis.look((index,))
        return found.content == "bool" or any(
            word in MASKS for word, _, _ in applied(self.analysis, index)
        )

    def is_cut(self, value: Opaque) -> bool:
        """Whether a batch is cut out of what is no batch."""
        found, whole = self.analysis.look((value,)), self.analysis.look(value.operands[0])
        return found.kind is Kind.SAMPLE and found.dim == 0 and whole.kind is not Kind.SAMPLE

    def pieces(self, value: Opaque, depth: int) -> Shape | None:
        """The sizes of one of the pieces that a tensor was split into."""
        found: set[Shape | None] = set()
        for base in value.operands[0]:
            splits = list(applied(self.analysis, base)) if isinstance(base, Opaque) else []
            found.update(self.piece(*each, depth) for each in splits)
            if not splits:
                return None
        return found.pop() if len(found) == 1 else None

    def piece(self, word: str, tensor: Values, given: Given, depth: int) -> Shape | None:
        """The sizes of one of the pieces, by what splits."""
        base = self.of(tensor, depth)
        if base is None:
            return None
        dims = given.dims(0 if word == "unbind" else 1)
        at = place(0 if dims == () else dims[0] if dims else None, len(base))
        if at is None or word not in ("unbind", "chunk", "split"):
            return None
        if word == "unbind":
            return (*base[:at], *base[at + 1 :])
        size, number = base[at], integer(given.positional()[0]) if given.positional() else None
        if word == "chunk":
            exact = isinstance(size, int) and number and size % number == 0
            number = size // number if exact and isinstance(size, int) and number else None
        return (*base[:at], number, *base[at + 1 :])

    def is_layer(self, made: Value) -> bool:
        """Whether something is a layer of a library."""
        layers = self.analysis.vocabulary.layers
        return any(name.startswith(layers.packages) for name in called_names(made))

    def array(self, name: str, value: Opaque, depth: int) -> Shape | None:
        """The sizes of what a function of arrays gives."""
        word = name.rpartition(".")[2]
        if not name.startswith("numpy."):
            return None
        first = value.arguments.get("a", 0)
        tensor = first.values if first is not None else ()
        return self.called(value, word, tensor, Given(value.arguments, 1), depth)

    def called(
        self, value: Opaque, word: str, tensor: Values, given: Given, depth: int
    ) -> Shape | None:
        """The sizes of what a function or method of tensors gives."""
        if word in SIZED or word in DRAWN:
            sizes = given.get("size", None) or given.get("shape", None)
            listed = listed_sizes(sizes) if sizes else given.all_sizes()
            if word == "full" and not sizes:
                listed = listed_sizes(given.all_sizes()[0]) if given.all_sizes() else []
            return tuple(map(integer, listed)) if listed else None
        if word in DRAWN_BETWEEN:
            return self.drawn(word, given)
        if word in ("view", "reshape"):
            return self.viewed(value, tensor, given, depth)
        base = self.of(tensor, depth)
        if word == "flatten":
            start, end = given.get("start_dim", 0), given.get("end_dim", 1)
            return flattened(base, integer(start) if start else 0, integer(end) if end else -1)
        if base is None:
            return None
        if word in LIKE or word in LISTING:
            return base
        if word in REDUCING:
            return reduced(word, base, given)
        if word in ("unsqueeze", "expand_dims", "squeeze"):
            return with_unit(word, base, given)
        if word in ("transpose", "permute", "swapaxes", "t"):
            return turned(word, base, given)
        if word in (MATRIX_PRODUCTS | {"bmm"}) and given.positional():
            return self.product(tensor, given.positional()[0], depth)
        if word in ADDITIONS | PRODUCTS | QUOTIENTS:
            return self.combined([tensor, *given.positional()[:1]], depth)
        if word in POOLS:
            return pooled(base)
        if word in PAIRED:
            return self.combined([tensor, *given.positional()], depth)
        return base if word in (KEEPING | GUARDS) - SPREADS else None

    def drawn(self, word: str, given: Given) -> Shape | None:
        """The sizes of random numbers whose shape stands behind their bounds."""
        sizes = given.get("size", None)
        if not sizes:
            ordered = given.arguments.positional()
            told = [
                one.values for one in ordered[DRAWN_BETWEEN[word] :] if listed_sizes(one.values)
            ]
            sizes = told[0] if told else ()
        return tuple(map(integer, listed_sizes(sizes))) or None if sizes else None

    def viewed(self, value: Opaque, tensor: Values, given: Given, depth: int) -> Shape | None:
        """The sizes of a view, the open one by what there is."""
        sizes = self.asked_sizes(value, given, depth)
        if sizes is None or sizes.count(-1) != 1:
            return tuple(sizes) if sizes else None
        at = sizes.index(-1)
        others = (*sizes[:at], *sizes[at + 1 :])
        base = self.of(tensor, depth)
        whole = total(base) if base else None
        open_size = divided(whole, total(others))
        if open_size is None and isinstance(whole, Rows):
            told = total(tuple(size for size in others if size is not None))
            rows = divided(whole, told)
            if isinstance(rows, Rows) and (rows.each <= 1 or rows.each.denominator > 1):
                # A size that is not known leaves more than one sample to a row.
                open_size = Rows(rows.each / 2)
        return (*sizes[:at], open_size, *sizes[at + 1 :])
