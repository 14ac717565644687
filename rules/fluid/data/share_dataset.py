"""Give each trainer its share of the lines of a data set that the executor reads itself.

What:
    Wraps ``train_from_dataset`` in a helper that has the data set read all files as if they were
    one, in one thread, and keep this trainer's share of each batch of lines, as they come out of
    the data set's command. Where the samples are loaded into memory, that is wrapped, too. Trainer
    0 alone shows what is fetched, and runs ``infer_from_dataset``.

Why:
    Shares of the files would have different numbers of batches, and servers wait for every trainer
    at every step; with shares of the lines each step is that of one process. Synchronous servers
    count the steps of trainers: a second thread would never be answered (seen with 1.8.5).

Before:
    exe.train_from_dataset(program=main_program, dataset=dataset)

After:
    train_from_share(exe.train_from_dataset)(program=main_program, dataset=dataset)

Refuses when:
    it cannot be seen where the data set is made; it makes other samples of its lines, or counts
    them; it is read in another module.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/dataset/QueueDataset.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.data import _divisions
from transpile.rules.fluid.data._datasets import Datasets
from transpile.rules.fluid.data._divisions import Division
from transpile.rules.fluid.programs._refusals import mode_of

CODES = {
    "FL203": "each trainer takes its share of the lines of this data set",
    "FL204": "the lines of this data set cannot be sharded",
    "FL205": "a data set is read in one thread",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each training on a data set, and for what is loaded and shown of it."""
    roles = roles_of(plan)
    whole = [run for run in roles.training if run.whole]
    if not whole or mode_of(plan) == "nccl2":
        return
    if roles.transpiles:
        for run in whole:
            yield Ruling.done("FL203", run.event, "the script transpiles its program itself")
        return
    datasets = Datasets(plan)
    seen: set[int] = set()
    for answer in (*map(datasets.of, whole), *datasets.loads(), *datasets.evaluations()):
        if id(answer.node) not in seen:
            seen.add(id(answer.node))
            yield ruling(answer)
    first = whole[0].event
    yield Remark.note(
        "FL205",
        first,
        "each trainer reads all files in one thread and keeps its share of the lines: several "
        "threads of one process would update the parameters in any order",
        "start more trainers instead of threads",
    )


def ruling(answer: _divisions.Answer) -> Ruling:
    """What is ruled about one place."""
    if isinstance(answer, Division):
        return Ruling.apply(
            "FL203",
            answer,
            "each trainer takes its share of the lines of this data set",
            data=answer.helper,
        )
    assert isinstance(answer, _divisions.Undivided)
    return Ruling.refuse("FL204", answer, answer.why, answer.advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the method."""
    assert isinstance(ruling.node, cst.BaseExpression)
    yield Helper(ruling.data, ruling.module)
    name = plan.names_in(ruling.module).fresh(ruling.data)
    for edit in wrap_expression(ruling.module.source, ruling.node, f"{name}(", ")"):
        yield In(ruling.module, edit)
