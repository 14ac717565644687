"""Operations that go element by element, and those that make new tensors."""

from __future__ import annotations

from transpile.facts.values import Constant

from .bound import Bound, pointwise, size, tensor_of
from .domain import LENGTH, NONE, ONE, PLAIN, Dim, Factor, Group, Known, Number, Tensor
from .shapes import (
    Mixed,
    Unclear,
    made,
)


def elementwise(bound: Bound) -> Known:
    """Each entry of the result is made of the entries at the same place."""
    values = [value for name, value in bound.values.items() if is_operand(bound, name, value)]
    return pointwise(bound.run, bound.word, *values)


def condition(bound: Bound) -> Known:
    """The same, with entries that are true or false."""
    found = elementwise(bound)
    assert isinstance(found, Tensor)
    return Tensor(found.dims, found.places, found.drawn, mask=True)


#: Parameters that are no operands.
SETTING_WORDS = """
out dtype device inplace approximate rounding_mode training non_blocking copy memory_format dim
keepdim reduction equal_nan size_average reduce log_input full log_target beta rtol atol
requires_grad
"""
SETTINGS = frozenset(SETTING_WORDS.split())


def is_operand(bound: Bound, name: str, value: Known) -> bool:
    """Whether an argument of an elementwise operation is a tensor or number."""
    if name in SETTINGS or isinstance(value, Constant):
        return False
    return value != PLAIN


def first(bound: Bound) -> Known:
    """The first tensor as it is."""
    return bound.get("input") or NONE


def noisy(bound: Bound) -> Known:
    """The first tensor with noise of its own in each entry."""
    found = bound.tensor("input")
    if not off(bound):
        bound.run.noise = True
    return found


def off(bound: Bound) -> bool:
    """Whether noise is switched off for certain."""
    return bound.get("training") == Constant(False) or bound.get("p") in (
        Constant(0), Constant(0.0))  # fmt: skip


def drawn(bound: Bound) -> Known:
    """A new tensor of random entries, of the given sizes."""
    bound.run.noise = True
    found = new(bound)
    assert isinstance(found, Tensor)
    return Tensor(found.dims, drawn=found.whole)


def drawn_like(bound: Bound) -> Known:
    """A new tensor of random entries, as large as another."""
    bound.run.noise = True
    found = bound.tensor("input")
    return Tensor(found.dims, drawn=found.whole)


def new(bound: Bound) -> Known:
    """A new tensor of the given sizes, all entries alike."""
    fill = bound.get("fill")
    if fill is not None and bound.run.sampled(fill):
        raise Unclear("a tensor is filled with samples")
    if isinstance(fill, Number) and (fill.samples or fill.counted):
        raise Mixed("the number of samples of the batch enters its values", "count")
    return Tensor(made(bound.sizes("size")))


def like(bound: Bound) -> Known:
    """A new tensor, as large as another, all entries alike."""
    return Tensor(bound.tensor("input").dims)


def counting(bound: Bound) -> Known:
    """Numbers one behind the other."""
    ends = [bound.get(name) for name in ("start", "end", "step") if name in bound.values]
    counts = [one for one in ends if isinstance(one, Number) and (one.samples or one.counted)]
    if counts:
        if len(ends) == 1 and counts[0] == Number(ONE, True):
            return Tensor((Dim(ONE, True),), places=True)
        raise Unclear("numbers are counted up by the number of samples")
    if any(bound.run.sampled(one) for one in ends if one is not None):
        raise Mixed("a shape depends on the values of the samples")
    if len(ends) == 1:
        return Tensor((Dim(one.size if one is not None else None),)
                      if (one := bound.sizes("start")[0]) else (LENGTH,))  # fmt: skip
    return Tensor((LENGTH,))


def evenly(bound: Bound) -> Known:
    """So many numbers between two."""
    steps = bound.get("steps")
    if isinstance(steps, Number) and (steps.samples or steps.counted):
        raise Mixed("its values depend on where in the batch a sample stands", "count")
    return Tensor((LENGTH if steps is None else Dim(sizes[0].size)
                   if (sizes := bound.sizes("steps"))[0] else LENGTH,))  # fmt: skip


def identity(bound: Bound) -> Known:
    """A square matrix."""
    sizes = bound.sizes("size")
    if any(one is not None and (one.samples or one.counted) for one in sizes):
        raise Mixed("it holds an entry for every pair of samples", "count")
    return Tensor((LENGTH, LENGTH))


def typed(bound: Bound) -> Known:
    """A tensor of a type, made of numbers or of nothing but sizes."""
    data = bound.get("data")
    if bound.sizes("sizes") or isinstance(data, Number) or is_integer(data):
        assert data is not None
        return Tensor(made((size(bound.run, data), *bound.sizes("sizes"))))
    return constant(bound)


def is_integer(value: Known | None) -> bool:
    """Whether a value is an integer of the script."""
    return isinstance(value, Constant) and isinstance(value.value, int)


def constant(bound: Bound) -> Known:
    """A tensor made of numbers."""
    data = bound.get("data")
    if isinstance(data, Tensor):
        return data
    if isinstance(data, Group) and data.rest is None:
        if all(isinstance(one, Constant) for one in data.elements):
            return Tensor((Dim(Factor(len(data.elements))),))
        inner = [bound.run.held(one) for one in data.elements]
        if inner and all(
            isinstance(one, Group) and all(isinstance(x, Constant) for x in one.elements)
            for one in inner
        ):
            return Tensor((Dim(Factor(len(inner))), LENGTH))
    return tensor_of(bound.run, data)
