"""Losses within models: they take the samples together unless they are told not to."""

from __future__ import annotations

from transpile.facts.values import Constant
from transpile.rows.bound import pointwise, tensor_of
from transpile.rows.domain import Known, Tensor
from transpile.rows.shapes import Mixed, Unclear
from transpile.rows.state import Given, Running

from .pointwise import ROW_LOSSES


def loss(run: Running, word: str, made: Given, given: Given) -> Known:
    """What a loss gives."""
    if not any(run.sampled(one) for one in given.every()):
        return Tensor(())
    for name in ("reduction", "reduce"):
        chosen = made.get(name) if made.get(name) is not None else given.get(name)
        if chosen in (Constant("none"), Constant(False)):
            return unreduced(run, word, given)
        if chosen is not None and not isinstance(chosen, Constant):
            raise Unclear(f"how '{word}' is reduced is not known")
    raise Mixed(f"'{word}' takes the samples of the batch together")


def unreduced(run: Running, word: str, given: Given) -> Known:
    """A loss with an entry for each element, or for each row."""
    tensors = [tensor_of(run, one) for one in given.items[:2]]
    if len(tensors) < 2 or any(one.dims is None for one in tensors):
        raise Unclear(f"the shape that '{word}' gives is not known")
    if word in ROW_LOSSES:
        outputs, targets = tensors
        if outputs.axis != 0 or (targets.axis != 0):
            raise Mixed(f"'{word}' goes along the samples of the batch")
        dims = outputs.dims or ()
        return Tensor((dims[0], *dims[2:]))
    if word in ("triplet_margin_loss", "cosine_embedding_loss", "ctc_loss"):
        raise Unclear(f"the shape that '{word}' gives is not known")
    return pointwise(run, word, *tensors)
