"""Say what the samples of a batch have to do with each other while it is put together.

What:
    A ``batchify_fn`` of a training loader that leaves out samples by what they are is an error.
    Samples that it computes from the others of their batch, such as by taking off its mean, are a
    warning, and so is padding to the longest of them that nothing masks.

Why:
    Each process puts together a batch of its own share: of other samples than one process does,
    and of some of them only.

Before:
    def batchify(samples):
        samples = [one for one in samples if one is not None]
        return make_batch(samples)

After:
    def batchify(samples):
        samples = [blank if one is None else one for one in samples]
        return make_batch(samples)

Refuses when:
    the number of rows depends on the samples.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/data/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.collations import leaving_out, mixing
from transpile.plan.data.collation import Padding, leaves_padding_out, pads
from transpile.plan.data.padding_readers import Readers
from transpile.plan.data.sources import sites
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.mxnet.losses._losses import shares

CODES = {
    "MX224": "samples are left out while a batch is put together",
    "MX225": "samples are computed from others while a batch is put together",
    "MX226": "each worker pads its batches to the longest sample of its own share",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
#: What fills samples of different lengths up.
PADDING = Padding(
    frozenset({"mxnet.nd.max", "mxnet.np.max"}),
    ("gluonnlp.data.batchify.Pad", "mxnet.gluon.data.batchify.Pad", "gluoncv.data.batchify.Pad"),
    masks=frozenset(
        {
            "mxnet.nd.SequenceMask", "mxnet.nd.sequence_mask", "SequenceMask",
            "mxnet.nd.contrib.boolean_mask", "mxnet.npx.sequence_mask", "mxnet.gluon.loss.CTCLoss",
            "mxnet.nd.SequenceLast", "SequenceLast",
        }
    ),
    masked=frozenset({"valid_length", "mask", "pred_lengths", "label_lengths", "sequence_length"}),
    readers=Readers(
        recurrent={
            "mxnet.gluon.rnn.GRU": ("bidirectional", 4),
            "mxnet.gluon.rnn.LSTM": ("bidirectional", 4),
            "mxnet.gluon.rnn.RNN": ("bidirectional", 5),
        },
        mixing=frozenset({"mxnet.gluon.nn.Conv1D"}),
        before={
            "mxnet.gluon.rnn.GRU": 3, "mxnet.gluon.rnn.LSTM": 3, "mxnet.gluon.rnn.RNN": 3,
        },
        one_way=(False,),
        told=frozenset({"sequence_length", "valid_length"}),
    ),
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """A refusal or warning for each place that makes samples depend on each other."""
    yield from leaving_out(plan, "MX224")
    yield from mixing(plan, "MX225", shares(plan))
    for site in sites(plan):
        if pads(plan, site.loader, PADDING):
            known = leaves_padding_out(plan, PADDING)
            yield (Remark.note if known else Remark.warn)(
                "MX226",
                site,
                "each worker pads its share of a batch to the longest sample in that share: what "
                "a network computes without a mask over the padding differs from one process",
                "mask the padding, or pad all batches to one length",
            )
