"""Write files, plots, records and raw output once per job.

What:
    Statements that do nothing but write (``$saver``, ``os.makedirs``, ``plt.savefig``,
    ``sys.stdout.write``, records of a tracker, ...) go under a test for rank 0, neighbours together
    under one. Where the only such statement is an ``if``, its condition is extended. An argument
    that does more than read is bound to a name first, in every process.

Why:
    Processes that write one file at the same time leave it torn, and plots, directories and
    records would be made N times.

Before:
    if args.save_model:
        $saving

After:
    if args.save_model and is_main_process():
        $saving

Refuses when:
    a module of the project writes where every process comes by; other writes that cannot be
    guarded are reported.

Source:
    $saving_source
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque
from transpile.layout import guard
from transpile.layout.calls import LINE_LENGTH
from transpile.layout.lines import statement_indentation
from transpile.once.open_once import elsewhere_nowhere
from transpile.once.shared import (
    agreed_on,
    holds,
    main_process,
    once_of,
    only_here,
    parts,
)
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import NEEDING, Run, Statement, statements_of
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.text.changes import Edit, Insert, Move
from transpile.text.span import Span

OPEN = "builtins.open"
#: What the findings say, by their numbers.
CODES = {
    "511": "writes once per job",
    "512": "something is written in every process",
    "514": "a person is waited for while the other processes go on",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each group of statements that write."""
    once = once_of(plan)
    for effect, how in once.finished(*(NEEDING - {Kind.OPEN})):
        yield Ruling.done(
            f"{plan.table.prefix}511",
            effect,
            f"{effect.word} {effect.kind.value} {how}",
            claims=(effect.node,),
        )
    for run in once.runs:
        words = sorted({effect.word for effect in run.effects})
        yield Ruling.apply(
            f"{plan.table.prefix}511",
            (run.module, run.effects[0].node),
            f"done once per job: {', '.join(words)}",
            data=run,
            claims=tuple(effect.node for effect in run.effects),
        )
    for effect in once.inline:
        yield Ruling.apply(
            f"{plan.table.prefix}511",
            effect,
            f"done once per job: {effect.word}",
            data=effect,
            claims=(effect.node,),
        )
    for effect, why in once.loose:
        yield Remark.warn(
            f"{plan.table.prefix}512",
            effect,
            f"{effect.word} {effect.kind.value} in every process: {why}",
            "do it on rank 0 alone",
        )
    yield from beside_samples(plan, once.sampling)
    for effect in once.mixed:
        yield Remark.warn(
            f"{plan.table.prefix}512",
            effect,
            f"{effect.word} {effect.kind.value} on rank 0 alone, which has a share of the samples "
            "that are drawn by way of this place",
            "write what belongs to samples in a function of its own",
        )
    early = {id(effect.node) for effect in once.early}
    passed_over = once.idle - early
    yield from waiting(
        plan, (one for one in once.effects.values() if id(one.node) not in passed_over)
    )


def beside_samples(plan: Plan, effects: list[Effect]) -> Iterator[Remark]:
    """What code does that draws samples: each process does it for those that it draws."""
    code = f"{plan.table.prefix}512"
    opened = {id(effect.module) for effect in effects if effect.kind is not Kind.HANDLE}
    for effect in effects:
        if effect.kind is Kind.HANDLE and id(effect.module) in opened:
            continue
        if effect.kind in (Kind.PRINT, Kind.CONSOLE):
            yield Remark.note(
                code,
                effect,
                f"{effect.word} {effect.kind.value} in every process, of the samples that it draws",
            )
            continue
        yield Remark.warn(
            code,
            effect,
            f"{effect.word} {effect.kind.value} in every process, for the samples that it draws: "
            "several may write the same file at once",
            "write under another name and put it in place by os.replace, or write before training",
        )


def waiting(plan: Plan, effects: Iterable[Effect]) -> Iterator[Remark]:
    """Calls that stop for a person; windows are told of once."""
    code = f"{plan.table.prefix}514"
    found = list(effects)
    shows = [one for one in found if one.kind is Kind.SHOW]
    behind = [one for one in shows if is_last(plan, one)]
    for effect in behind[:1]:
        yield Remark.note(
            code,
            effect,
            f"{effect.word} opens windows on rank 0 alone, behind the training: the job ends when "
            "they are closed",
        )
    before = [one for one in shows if one not in behind]
    for effect in (*before[:1], *(one for one in found if one.kind is Kind.ASK)):
        others = len(before) - 1 if effect.kind is Kind.SHOW else 0
        more = f", as at {others} more places" if others > 0 else ""
        yield Remark.warn(
            code,
            effect,
            f"{effect.word} waits for a person, which several processes without a terminal of "
            f"their own cannot do{more}",
            "take it out, or read what it asks for from the command line",
        )


def is_last(plan: Plan, effect: Effect) -> bool:
    """Whether nothing that processes may do together follows what one of them waits in."""
    training = {id(loop.node) for one in plan.backwards for loop in one.event.loops()}
    if any(id(loop.node) in training for event in effect.events for loop in event.loops()):
        return False
    last = max(event.order for event in effect.events)
    later = (one for one in plan.facts.events if one.order > last and not one.detached)
    return not any(of_framework(plan, event) for event in later)


def of_framework(plan: Plan, event: Event) -> bool:
    """Whether the framework has a part in what happens, or a file is opened."""
    made_of = walk_back(event.callee, lambda one: isinstance(one, Opaque))
    names = {name for value in made_of for name in called_names(value)}
    names |= {value.name for value in made_of if isinstance(value, External)}
    return any(name.partition(".")[0] in plan.table.packages or name == OPEN for name in names)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The test of the rank around a group of statements."""
    if isinstance(ruling.data, Effect):
        yield from only_here(plan, ruling.module, ruling.data.node, "None")
        return
    run: Run = ruling.data
    source = run.module.source
    yield Helper("is_main_process", run.module)
    test = main_process(plan, run.module)
    condition = run.condition
    if condition is not None and fits(run, condition, test):
        for edit in extended(run, condition, test):
            yield In(run.module, edit)
        return
    statements = list(run.statements)
    if condition is not None:
        statements = statements_of(condition.body)
    together = agreed_on(rulings)
    guarded: list[Statement] = []
    for part in parts(run, statements, together):
        guarded.extend(part)
        bound = run.bound or shared_arguments(run, part, together)
        yield from names_first(plan, run, part[0], bound)
        for edit in guard(source, part[0], part[-1], f"if {test}:"):
            yield In(run.module, edit)
    for effect in run.effects:
        if effect.kind is Kind.OPEN and not any(
            holds(source, statement, effect.node) for statement in guarded
        ):
            yield from elsewhere_nowhere(plan, effect)


def fits(run: Run, condition: cst.If, test: str) -> bool:
    """Whether the extended condition stays within a line."""
    source = run.module.source
    span = source.span(condition.test)
    line = source.text[source.line_start(span.start) : source.next_line_start(span.end)].rstrip()
    return "\n" not in line and len(line) + len(f"() and {test}") <= LINE_LENGTH


def extended(run: Run, condition: cst.If, test: str) -> Iterator[Edit]:
    """The edits that add the test of the rank to a condition, outside of all other edits of it."""
    source = run.module.source
    node = condition.test
    span = source.span(node)
    closing = f" and {test}"
    if node.lpar:
        span = Span(source.span(node.lpar[0]).start, source.span(node.rpar[-1]).end)
    elif isinstance(node, (cst.IfExp, cst.Lambda, cst.NamedExpr)) or (
        isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or)
    ):
        yield Insert(span.start, "(", -100, "open", span)
        closing = f"){closing}"
    yield Insert(span.end, closing, -100, "close", span)


def shared_arguments(
    run: Run, part: list[Statement], together: list[cst.CSTNode]
) -> tuple[cst.BaseExpression, ...]:
    """The arguments of a call on its own that all processes evaluate together."""
    statement = part[0]
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call):
        return ()
    source = run.module.source
    return tuple(
        argument.value
        for argument in statement.value.args
        if any(argument.value is node or holds(source, argument.value, node) for node in together)
    )


def names_first(
    plan: Plan, run: Run, statement: Statement, bound: tuple[cst.BaseExpression, ...]
) -> Iterator[Change]:
    """Bind the arguments that do more than read, in every process."""
    source = run.module.source
    start = source.span(statement).start
    indentation = statement_indentation(source, statement)
    for position, node in enumerate(bound):
        span = source.span(node)
        name = plan.names_in(run.module).fresh(name_for(run, node), f"argument at {span.start}")
        several_lines = "\n" in source.text[span.start : span.end]
        opening, closing = ("(", ")") if several_lines and not closed(node) else ("", "")
        order = 3 * position - 100
        for edit in (
            Insert(start, f"{name} = {opening}", order),
            Move(span, start, order + 1),
            Insert(start, f"{closing}{source.newline}{indentation}", order + 2),
            name_inside(source.span(statement), span, name),
        ):
            yield In(run.module, edit)


def closed(node: cst.BaseExpression) -> bool:
    """Whether an expression may go over several lines as it is."""
    return isinstance(node, (cst.Call, cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp))


def name_for(run: Run, node: cst.BaseExpression) -> str:
    """A name that says what an argument is."""
    for effect in run.effects:
        for argument in effect.node.args:
            if argument.value is node and argument.keyword is not None:
                return argument.keyword.value
    function = node.func if isinstance(node, cst.Call) else node
    if isinstance(function, cst.Attribute):
        function = function.attr
    if isinstance(function, cst.Name) and isinstance(node, cst.Call):
        return f"{function.value}_result"
    return "text" if run.effects[0].kind is Kind.CONSOLE else "value"


def name_inside(statement: Span, argument: Span, name: str) -> Insert:
    """The name in the place of what it is bound to, inside whatever goes around the statement."""
    if argument.start > statement.start:
        return Insert(argument.start, name)
    return Insert(argument.start, name, 0, "open", statement)
