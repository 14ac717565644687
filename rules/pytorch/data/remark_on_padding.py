"""Say where each process pads its batches to the longest sample of its own share.

What:
    A loader whose collate function pads, or whose tokenizer pads to the longest sample, is named
    in a note.

Why:
    Each process pads its share of the global batch to the longest sample in that share. A model
    that ignores padding (packed sequences, attention masks, ``ignore_index``) gives every sample
    what one process gives it. A model that does not, such as a recurrent network that reads the
    padding, gives it a slightly different result.

Before:
    def collate(samples):
        return nn.utils.rnn.pad_sequence(samples, batch_first=True)

After:
    def collate(samples):
        return torch.stack([nn.functional.pad(each, (0, 100 - len(each))) for each in samples])

Refuses when:
    never: it is a note.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.data.collation import Padding, pads
from transpile.plan.data.sources import sites
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT217": "each process pads its batches to the longest sample of its own share"}
PADDING = Padding(
    frozenset({"torch.nn.utils.rnn.pad_sequence", "torch.max", "torch.amax"}),
    ("transformers.DataCollator", "transformers.data.data_collator.DataCollator"),
)


def decide(plan: Plan) -> Iterator[Answer]:
    """One note for each place that makes a padding loader."""
    for site in sites(plan):
        if pads(plan, site.loader, PADDING):
            yield Remark.note(
                "PT217",
                site,
                "each process pads its share of a batch to the longest sample in that share: what "
                "a model computes without a mask over the padding differs a little from one "
                "process",
                "mask the padding, pack the sequences, or pad all batches to one length",
            )
