"""Write files, plots and records once per job.

What:
    Statements that do nothing but write (``net.save_parameters``, ``os.makedirs``,
    ``plt.savefig``, ...) go under a test for rank 0, neighbours together under one. A file that is
    opened where no guard fits leads nowhere in the other workers.

Why:
    Workers that write one file at the same time leave it torn.

Before:
    net.save_parameters("net.params")

After:
    if is_main_process():
        net.save_parameters("net.params")

Refuses when:
    never: writes that cannot be guarded are reported.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/kvstore/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import External
from transpile.layout import guard
from transpile.layout.calls import LINE_LENGTH
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import NEEDING, Run, Statement
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet.effects._once import argument_of, main_process, once_of, only_here
from transpile.text.changes import Insert, Move
from transpile.text.span import Span

CODES = {
    "MX511": "writes once per job",
    "MX512": "something is written in every worker",
}
OPENING = frozenset({Kind.OPEN, Kind.LOG_FILE})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each group of statements that write, and each file that is opened."""
    once = once_of(plan)
    for effect, how in once.finished(*NEEDING, *OPENING):
        yield settled(effect, f"{effect.word} {effect.kind.value} {how}")
    for run in once.runs:
        words = sorted({effect.word for effect in run.effects})
        yield Ruling.apply(
            "MX511",
            (run.module, run.effects[0].node),
            f"done once per job: {', '.join(words)}",
            data=run,
            claims=tuple(effect.node for effect in run.effects),
        )
    for effect in (*once.inline, *once.pending(*OPENING)):
        yield single(plan, effect)
    for effect in once.pending(Kind.MODIFY):
        if not all(event.detached for event in effect.events):
            yield everywhere(effect, "it is read and written")
    for effect, why in once.loose:
        yield everywhere(effect, why)


def settled(effect: Effect, reason: str) -> Ruling:
    """The answer for an effect that happens once already."""
    return Ruling.done("MX511", effect, reason, claims=(effect.node,))


def everywhere(effect: Effect, why: str) -> Remark:
    """The warning about an effect of every worker."""
    return Remark.warn(
        "MX512",
        effect,
        f"{effect.word} {effect.kind.value} in every worker: {why}",
        "do it where the rank of the store is 0",
    )


def single(plan: Plan, effect: Effect) -> Answer:
    """The answer for an effect that no guard goes around."""
    path = path_of(effect)
    if effect.kind in OPENING:
        if path is None:
            return everywhere(effect, "its path cannot be seen")
        if leads_nowhere(plan, path):
            return settled(effect, "it leads nowhere on all ranks but one")
    return Ruling.apply(
        "MX511", effect, f"done once per job: {effect.word}", data=effect, claims=(effect.node,)
    )


def path_of(effect: Effect) -> cst.BaseExpression | None:
    """The expression that names the file."""
    position = 99 if effect.word == "logging.basicConfig" else 0
    found = argument_of(effect, ("file", "filename"), position)
    if effect.word == "open()":
        return None
    return found.value if found is not None else None


def leads_nowhere(plan: Plan, path: cst.BaseExpression) -> bool:
    """Whether a path is the null device on all ranks but one."""
    if isinstance(path, cst.IfExp) and once_of(plan).ranks.tests_rank(path.test):
        return True
    values = plan.facts.values_of(path)
    return bool(values) and all(value == External("os.devnull") for value in values)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The test of the rank."""
    data: Run | Effect = ruling.data
    if isinstance(data, Run):
        yield from guarded(plan, data)
    elif data.kind in OPENING:
        path = path_of(data)
        assert path is not None
        nowhere = f"{plan.names_in(data.module).imported('os', 'os')}.devnull"
        yield from only_here(plan, data.module, path, nowhere)
    else:
        yield from only_here(plan, data.module, data.node, "None")


def guarded(plan: Plan, run: Run) -> Iterator[Change]:
    """The test of the rank around a group of statements, or in the condition they have."""
    source = run.module.source
    yield Helper("is_main_process", run.module)
    test = main_process(plan, run.module)
    condition = run.condition
    if condition is not None and is_short(run, condition, test):
        node = condition.test
        loose = isinstance(node, (cst.IfExp, cst.Lambda, cst.NamedExpr)) or (
            isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or)
        )
        opening, closing = ("(", ")") if loose and not node.lpar else ("", "")
        span = source.span(node)
        if node.lpar:
            span = Span(source.span(node.lpar[0]).start, source.span(node.rpar[-1]).end)
        if opening:
            yield In(run.module, Insert(span.start, opening, -100, "open", span))
        yield In(run.module, Insert(span.end, f"{closing} and {test}", -100, "close", span))
        return
    yield from names_first(plan, run)
    for edit in guard(source, run.statements[0], run.statements[-1], f"if {test}:"):
        yield In(run.module, edit)


def is_short(run: Run, condition: cst.If, test: str) -> bool:
    """Whether the extended condition stays within a line."""
    source = run.module.source
    span = source.span(condition.test)
    line = source.text[source.line_start(span.start) : source.next_line_start(span.end)].rstrip()
    return "\n" not in line and len(line) + len(f"() and {test}") <= LINE_LENGTH


def names_first(plan: Plan, run: Run) -> Iterator[Change]:
    """Bind the arguments that do more than read, in every worker."""
    source = run.module.source
    statement: Statement = run.statements[0]
    start = source.span(statement).start
    indentation = source.indentation_of(start)
    for position, node in enumerate(run.bound):
        span = source.span(node)
        name = plan.names_in(run.module).fresh("value", f"argument at {span.start}")
        order = 3 * position - 100
        for edit in (
            Insert(start, f"{name} = (", order),
            Move(span, start, order + 1),
            Insert(start, f"){source.newline}{indentation}", order + 2),
            name_inside(source.span(statement), span, name),
        ):
            yield In(run.module, edit)


def name_inside(statement: Span, argument: Span, name: str) -> Insert:
    """The name in the place of what it is bound to, inside whatever goes around the statement."""
    if argument.start > statement.start:
        return Insert(argument.start, name)
    return Insert(argument.start, name, 0, "open", statement)
