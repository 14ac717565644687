"""Give each trainer its share of every batch.

What:
    Wraps the reader that a training loop draws its batches from, or that a loader is given, in a
    helper that yields this trainer's share of each batch. A batch that cannot be divided is padded
    with its own first samples where it is the last one, and stops the script where it is not.
    Arrays that the script feeds without a reader are divided where they are fed. A loader that
    makes batches of single samples is given lists of them instead. Where variables are made with
    the number of rows of a whole batch, they are given that of a share.

Why:
    The servers average the gradients of the trainers, so that shares of equal size give the
    gradient of the whole batch. All trainers take the same number of steps: a server waits for each
    of them at every step.

Before:
    for data in train_reader():
        exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_loss])

After:
    for data in shard_reader(train_reader)():
        exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_loss])

Refuses when:
    it cannot be seen what is fed; one reader feeds the training and an evaluation; one call runs
    the program that trains or another one; a loader draws from a data set itself; nothing is fed;
    variables are made for the rows of a whole batch, and other runs need these.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/advanced_guide/distributed_training/cluster_howto_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import replace_expression, wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.data._divisions import Divided, Division
from transpile.rules.fluid.data._feeds import Feeds
from transpile.rules.fluid.data._fixed_sizes import fixed_sizes
from transpile.text.edit import wrap
from transpile.text.span import Span

CODES = {
    "FL201": "each trainer takes its share of these batches",
    "FL202": "these batches cannot be divided",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each source of batches."""
    feeds = Feeds(plan)
    seen: set[int] = set()
    for run in roles_of(plan).training:
        if run.whole:
            continue
        if roles_of(plan).runs_others(run):
            yield Ruling.refuse(
                "FL202",
                run.event,
                "this runs the program that trains or another one, such as one for testing, which "
                "needs all of its batches",
                "run each program by a call of its own",
            )
            continue
        for answer in feeds.of(run):
            if id(answer.node) in seen:
                continue
            seen.add(id(answer.node))
            if isinstance(answer, Divided):
                yield Ruling.done("FL201", answer, "each trainer takes its share of these batches")
            elif isinstance(answer, Division):
                yield Ruling.apply(
                    "FL201", answer, "each trainer takes its share of these batches", data=answer
                )
            else:
                yield Ruling.refuse("FL202", answer, answer.why, answer.advice)

    for shaped, size in fixed_sizes(plan):
        if isinstance(size, Division):
            why = "this is the number of rows of a trainer's share"
            yield Ruling.apply("FL201", size, why, data=size)
        else:
            yield Ruling.refuse("FL202", shaped.event, size.why, size.advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the reader or the feed."""
    division: Division = ruling.data
    yield Helper(division.helper, division.module)
    name = plan.names_in(division.module).fresh(division.helper)
    source = division.module.source
    if division.call is not None:
        assert isinstance(division.call.func, cst.Attribute)
        first = division.call.args[0]
        start = source.span(first.keyword or first.value).start
        span = Span(start, source.span(division.node).end)
        for edit in (
            *wrap(span, f"{name}(", ")"),
            *replace_expression(source, division.call.func.attr, division.method),
        ):
            yield In(division.module, edit)
        return
    given = [division.program] if division.program else []
    if division.fixed:
        names = ", ".join(f'"{each}"' for each in division.fixed)
        given.append(f"fixed=[{names}]")
    after = "".join(f", {each}" for each in given) + ")"
    for edit in wrap_expression(source, division.node, f"{name}(", after):
        yield In(division.module, edit)
