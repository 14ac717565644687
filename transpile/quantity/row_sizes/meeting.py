"""Tensors of different numbers of axes that meet element by element: each sample meets all others.

Broadcasting lays axes beside each other from the last one on: an output of one column and a target
without columns give a number for each pair of samples, of which PyTorch warns at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transpile.facts.values import Opaque

from ..domain import Kind
from ..sample_axis.axes import operands
from .arithmetic import Rows, Shape
from .reader import DEPTH, Reader

if TYPE_CHECKING:
    from ..analysis import Supposing

PAIRED = (
    "tensors of samples that have different numbers of axes meet here, so that each sample meets "
    "all samples of its batch"
)


def pairs_samples(analysis: Supposing, value: Opaque) -> bool:
    """Whether broadcasting lays the samples of one tensor along another axis than those of others.

    Args:
        analysis: tells which values are samples.
        value: an operation, or a call.
    """
    paired = operands(analysis, value)
    if len(paired) < 2:
        return False
    of_samples = [one for one in paired if analysis.look(one).kind is Kind.SAMPLE]
    if len(of_samples) < 2:
        return False
    reader = Reader(analysis)
    shapes = [reader.of(values, DEPTH) for values in of_samples]
    places = [from_the_end(shape) for shape in shapes if shape is not None]
    return len({place for place in places if place is not None}) > 1


def from_the_end(shape: Shape) -> int | None:
    """Where the axis of samples is, counted from the last one; None where none is known."""
    places = [len(shape) - at for at, size in enumerate(shape) if isinstance(size, Rows)]
    return places[0] if len(places) == 1 else None
