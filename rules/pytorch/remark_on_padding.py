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

from transpile.facts.values import Constant, Opaque, Value
from transpile.finding import Level
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.sources import sites
from transpile.rule import Answer, Remark
from transpile.rules.pytorch._quantity.collation import PADS, functions_of, returned

CODES = {"PT217": "each process pads its batches to the longest sample of its own share"}
LONGEST = frozenset({"builtins.max", "numpy.max", "numpy.amax", "torch.max", "torch.amax"})
COLLATORS = ("transformers.DataCollator", "transformers.data.data_collator.DataCollator")


def decide(plan: Plan) -> Iterator[Answer]:
    """One note for each place that makes a padding loader."""
    for site in sites(plan):
        if pads(plan, site.loader):
            yield Remark(
                "PT217",
                Level.NOTE,
                site.module,
                site.node,
                "each process pads its share of a batch to the longest sample in that share: what "
                "a model computes without a mask over the padding differs a little from one "
                "process",
                "mask the padding, pack the sequences, or pad all batches to one length",
            )


def pads(plan: Plan, loader: Loader) -> bool:
    """Whether the batches of a loader are as long as their longest sample."""
    argument = loader.argument("collate_fn")
    if argument is None:
        return False
    for value in argument.values:
        if any(name.startswith((*COLLATORS, PADS)) for name in called_names(value)):
            return True
    return any(
        asks_for_the_longest(value)
        for function in functions_of(argument.values)
        for values in returned(plan, function)
        for value in walk_back(values)
    )


def asks_for_the_longest(value: Value) -> bool:
    """Whether a call pads, or takes the largest of several numbers."""
    names = called_names(value)
    if any(name == PADS or name in LONGEST for name in names):
        return True
    if any(name == "max" for name, _ in method_calls(value)):
        return True
    if not isinstance(value, Opaque):
        return False
    padding = value.arguments.keyword("padding")
    return padding is not None and any(
        isinstance(each, Constant) and each.value in (True, "longest") for each in padding.values
    )
