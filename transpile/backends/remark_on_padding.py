"""Say where each process pads its batches to the longest sample of its own share.

What:
    A loader whose collate function pads, or whose tokenizer pads to the longest sample, is named
    in a note; in a warning where nothing says what is padding, and where a layer carries it over
    to what is none: a recurrent layer whose last state is used or that reads from both ends,
    attention and convolutions, without a mask or lengths of their own.

Why:
    Each process pads its share of the global batch to the longest sample in that share. A model
    that ignores padding (packed sequences, attention masks, ``ignore_index`` behind layers that
    look at single or earlier positions) gives every sample what one process gives it. A model that
    does not, such as a recurrent network that reads the padding, gives it a slightly different
    result: where they can be, calls of models are split instead of batches.

Before:
    $padded

After:
    $padded_alike

Refuses when:
    never: it is a note, or a warning.

Source:
    $padding_source
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.backend import Backend
from transpile.facts.events import Event
from transpile.plan.data.collation import leaves_padding_out, pads
from transpile.plan.data.sources import Site, sites
from transpile.plan.model import Plan
from transpile.quantity.paddings import padded_by_hand
from transpile.rule import Remark

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"217": "each process pads its batches to the longest sample of its own share"}


def decide(backend: Backend, plan: Plan) -> Iterator[Remark]:
    """One remark for each place that makes a padding loader, or the first that pads by itself."""
    places: list[Site | Event] = [
        site for site in sites(plan) if pads(plan, site.loader, backend.padding)
    ]
    for site in places or list(padded_by_hand(plan, backend.padding))[:1]:
        known = leaves_padding_out(plan, backend.padding)
        yield (Remark.note if known else Remark.warn)(
            f"{backend.prefix}217",
            site,
            "each process pads its share of a batch to the longest sample in that share: what "
            "a model computes without a mask over the padding differs a little from one "
            "process",
            "mask the padding, pack the sequences, or pad all batches to one length",
        )
