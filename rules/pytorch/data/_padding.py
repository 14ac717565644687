"""What fills samples of different lengths up in PyTorch."""

from __future__ import annotations

from transpile.plan.data.collation import Padding

PADDING = Padding(
    frozenset({"torch.nn.utils.rnn.pad_sequence", "torch.max", "torch.amax"}),
    ("transformers.DataCollator", "transformers.data.data_collator.DataCollator"),
)
