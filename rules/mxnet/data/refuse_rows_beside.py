"""Refuse rows of other arrays that a training step takes beside the batches of its data.

What:
    Rows that a step takes from an array by how many samples a batch has, such as those that a
    cursor of the script comes to next, ``bank[at : at + len(data)]``, or by the number of the
    batch, ``bank[i * 64 : (i + 1) * 64]``, are an error. So are the rows of an array that is as
    long as a whole batch, ``nd.arange(64)``, where it meets the samples of one.

Why:
    A worker has every so manieth sample of a batch, and the rows of the array that its own samples
    count up to: they are other rows than those that belong to these samples in one process.

Before:
    for data, label in loader:
        weight = weights[at : at + len(data)]
        at += len(data)

After:
    dataset = gluon.data.ArrayDataset(images, labels, weights)
    for data, label, weight in gluon.data.DataLoader(dataset, 64):
        at += len(data)

Refuses when:
    a loss is made of rows of an array that no training data gave, and where these stand comes from
    the number of samples in a batch, or is as long as a whole one. Arrays of ones or zeros have all
    rows alike.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/data/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.mxnet.data._rows_beside import rows_beside
from transpile.rules.mxnet.data._whole_rows import whole_rows

CODES = {"MX223": "rows of an array are taken beside the batches of the training data"}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that takes such rows."""
    for module, node in rows_beside(plan):
        yield Ruling.refuse(
            "MX223",
            (module, node),
            "these rows are taken by how many samples the batches have, of which each worker has "
            "its part: they are not those that belong to its samples",
            "put the array into the data set of the loader",
        )
    for event in whole_rows(plan):
        yield Ruling.refuse(
            "MX223",
            event,
            "this array has a row for every sample of a whole batch, of which each worker has its "
            "part: it does not fit that part, or gives its samples the rows of others",
            "put the array into the data set of the loader",
        )
