"""The arguments of an operation by the names of its parameters."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque

from .domain import (
    LENGTH,
    ONE,
    Dim,
    Factor,
    Group,
    Held,
    Known,
    Number,
    Record,
    Tensor,
)
from .shapes import Impossible, Mixed, Target, Unclear
from .state import Given, Running

#: Kinds of nodes that stand for settings where a library's object gives them.
SETTINGS = frozenset({"attribute", "item"})


class Bound:
    """The arguments of one call of an operation.

    Args:
        run: the run.
        word: the operation's name.
        given: its arguments, the tensor that a method belongs to among them.
        signature: its parameters; one with a star takes all that is left.
    """

    def __init__(self, run: Running, word: str, given: Given, signature: str) -> None:
        self.run = run
        self.word = word
        self.values: dict[str, Known] = {}
        place = 0
        for name in signature.split():
            if name.startswith("*"):
                left = given.items[place:]
                if len(left) == 1 and isinstance(run.held(left[0]), Group):
                    self.values[name[1:]] = left[0]
                elif left:
                    self.values[name[1:]] = Group(left)
                place = len(given.items)
            elif place < len(given.items):
                self.values[name] = given.items[place]
                place += 1
        names = {name.lstrip("*") for name in signature.split()}
        for name, value in given.keywords.items():
            word_of = ALIASES.get(name, name)
            self.values.setdefault(word_of if word_of in names else name, value)
        self.surplus = len(given.items) > place

    def get(self, name: str) -> Known | None:
        """An argument."""
        found = self.values.get(name)
        return self.run.held(self.run.settle(found)) if found is not None else None

    def tensor(self, name: str) -> Tensor:
        """An argument that is a tensor."""
        return tensor_of(self.run, self.get(name))

    def flag(self, name: str, default: bool = False) -> bool | None:
        """An argument that is true or false; None if that is not known."""
        found = self.get(name)
        if found is None:
            return default
        return bool(found.value) if isinstance(found, Constant) else None

    def integer(self, name: str, default: int | None = None) -> int | None:
        """An argument that is a whole number; None if it is not known."""
        found = self.get(name)
        if found is None:
            return default
        if isinstance(found, Constant) and isinstance(found.value, int):
            return found.value
        return None

    def axes(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """An argument that names axes; None for all of them.

        Raises:
            Unclear: they are not known.
        """
        found = self.get(name)
        if found is None or (isinstance(found, Constant) and found.value is None):
            return default
        if isinstance(found, Constant) and isinstance(found.value, int):
            return (found.value,)
        if isinstance(found, Group) and found.rest is None:
            numbers = tuple(
                one.value
                for one in found.elements
                if isinstance(one, Constant) and isinstance(one.value, int)
            )
            if len(numbers) == len(found.elements):
                return numbers
        raise Unclear(f"along which axis '{self.word}' goes is not known")

    def axis(self, name: str, default: int | None = None) -> int:
        """An argument that names one axis."""
        found = self.axes(name, None if default is None else (default,))
        if found is None or len(found) != 1:
            raise Unclear(f"along which axis '{self.word}' goes is not known")
        return found[0]

    def sizes(self, name: str) -> tuple[Target, ...]:
        """An argument that is a shape.

        Raises:
            Unclear: it is not known.
        """
        found = self.get(name)
        if isinstance(found, Group):
            if found.rest is not None:
                raise Unclear("the sizes are not known")
            return tuple(size(self.run, one) for one in found.elements)
        if found is None:
            return ()
        return (size(self.run, found),)


#: Other names of parameters.
ALIASES = {"axis": "dim", "axes": "dim", "keepdims": "keepdim", "dims": "dim", "x": "input"}


def size(run: Running, value: Known) -> Target:
    """One size of a shape; None for one that is left open."""
    value = run.held(run.settle(value))
    if isinstance(value, Constant):
        if not isinstance(value.value, int):
            raise Impossible
        return None if value.value == -1 else Number(Factor(value.value))
    if isinstance(value, Number):
        return value
    if isinstance(value, Tensor):
        if value.whole:
            return Number()
        raise Mixed("a shape depends on the values of the samples")
    if isinstance(value, Held):
        return Number()
    raise Unclear("the sizes are not known")


def tensor_of(run: Running, value: Known | None) -> Tensor:
    """A value as a tensor; numbers have no axes."""
    if value is None:
        return Tensor(())
    value = run.held(run.settle(value))
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Constant):
        if value.value is None or isinstance(value.value, str):
            raise Impossible
        return Tensor(())
    if isinstance(value, Number):
        if value.samples or value.counted:
            raise Mixed("the number of samples of the batch enters its values", "count")
        return Tensor((), drawn=value.drawn)
    if isinstance(value, Held):
        if all(isinstance(one, Opaque) and one.kind in SETTINGS for one in value.values):
            return Tensor(())
        return Tensor(None)
    if isinstance(value, (Group, Record)):
        parts = list(run.deep(value))
        if any(run.sampled(one) for one in parts):
            raise Unclear("samples are put into a tensor one by one")
        if isinstance(value, Group) and value.rest is None:
            if all(isinstance(one, (Constant, Number)) for one in value.elements):
                return Tensor((Dim(Factor(len(value.elements))),))
        elif isinstance(value, Group):
            if all(isinstance(one, (Constant, Number)) for one in (*value.elements, value.rest)):
                return Tensor((LENGTH,))
        return Tensor(None)
    raise Unclear("what is a tensor here is not known")


def pointwise(run: Running, word: str, *values: Known) -> Tensor:
    """What an operation gives that goes element by element."""
    from .shapes import broadcast

    tensors = [tensor_of(run, value) for value in values]
    drawn = any(one.drawn for one in tensors)
    if any(one.dims is None for one in tensors):
        if all(one.whole for one in tensors):
            return Tensor(None, drawn=drawn)
        raise Unclear(f"the shape of a tensor that meets the samples in '{word}' is not known")
    dims: tuple[Dim, ...] = ()
    for one in tensors:
        dims = broadcast(dims, one.dims or ())
    made = Tensor(dims)
    places = any(one.places for one in tensors)
    if made.whole:
        return Tensor(dims, drawn=drawn)
    if drawn:
        raise Mixed("one random draw serves all samples of the batch", "noise")
    if places:
        raise Mixed("its values depend on where in the batch a sample stands", "count")
    return made


def arithmetic(word: str, left: Known, right: Known) -> Known:
    """An operator on two plain numbers."""
    one, other = number_of(left), number_of(right)
    drawn = one.drawn or other.drawn
    counted = one.counted or other.counted
    samples = one.samples or other.samples
    if word == "Multiply" and one.size is not None and other.size is not None and not counted:
        if not (one.samples and other.samples):
            return simplified(Number(one.size.times(other.size), samples, drawn=drawn))
    if word in ("FloorDivide", "Divide") and one.size and other.size and not counted:
        left_over = one.size.over(other.size)
        if left_over is not None and not (other.samples and not one.samples):
            if word == "FloorDivide" or other.samples is one.samples:
                return simplified(Number(left_over, one.samples and not other.samples, drawn=drawn))
    return Number(None, False, counted or samples, drawn)


def simplified(number: Number) -> Known:
    """A number as a constant, where it is one."""
    if number.size is None or number.size.symbols or number.samples or number.drawn:
        return number
    return Constant(number.size.number)


def number_of(value: Known) -> Number:
    """A value as a plain number."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Constant) and type(value.value) is int:
        return Number(Factor(value.value))
    return Number()


def size_number(dim_size: Factor | None, samples: bool) -> Known:
    """The length of an axis as a number."""
    return simplified(Number(dim_size, samples))


__all__ = ["ONE", "Bound", "arithmetic", "pointwise", "tensor_of"]
