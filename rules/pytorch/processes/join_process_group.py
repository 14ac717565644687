"""Join the process group once, where the process really starts, and leave it at the end.

What:
    Calls a set-up function after the command line is parsed (else at the start of ``main``, else
    below the imports), which reads what the launcher put into the environment, chooses this
    process's GPU and joins the process group. At the end of the normal path every process waits
    for the others and leaves the group.

Why:
    Without a process group every process trains a model of its own. A barrier before the group is
    destroyed keeps the process that hosts the store alive until all have left; a ``finally`` would
    hang when one process fails.

Before:
    def main():
        args = parser.parse_args()
        train(args)

After:
    def main():
        args = parser.parse_args()
        setup_distributed()
        train(args)
        cleanup_distributed()

Refuses when:
    there is no single place that every training step is reached from; with ``--script-args``, the
    script has no argparse parser that can be found, or has one of the options itself.

Source:
    https://pytorch.org/docs/stable/distributed.html#initialization,
    https://pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.layout import insert_after, insert_before
from transpile.layout.calls import written_call
from transpile.plan.flow.entering import inside_main_guard, returns_early, set_up_statement
from transpile.plan.flow.leaving import leave_at_end, leave_behind
from transpile.plan.flow.start import Start, find_start, relevant
from transpile.plan.model import Plan
from transpile.records import dataclass, replace
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.devices._model_places import model_place
from transpile.rules.pytorch.processes._script_arguments import Parsing, find_parsing
from transpile.rules.pytorch.processes._set_up_helper import call_of
from transpile.rules.pytorch.processes._variants import variants
from transpile.text.changes import Edit, Insert

CODES = {
    "PT101": "the process group is joined where the process starts",
    "PT102": "there is no single place where the process starts",
    "PT103": "the script's own parser cannot take the options of the process group",
}


@dataclass(frozen=True, eq=False)
class Joining:
    """Where the process group is joined.

    Args:
        start: the scope that it is joined in.
        parsing: the script's parser, where that takes the options of the process group.
    """

    start: Start
    parsing: Parsing | None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer: where to join, or that it is joined already."""
    tree = plan.entry.source.tree
    for event in plan.facts.reached_calls:
        if any(
            getattr(callee, "name", "") in plan.table.distributed_starts for callee in event.callee
        ):
            yield Ruling.done("PT101", event, "the script joins a process group itself")
            return
    start = find_start(plan)
    if start is None and not relevant(plan):
        return
    if start is None:
        yield Ruling.refuse(
            "PT102",
            (plan.entry, tree),
            "no place in the script leads to all of its training",
            "call the training from one function of the script",
        )
        return
    parsing = find_parsing(plan, start) if plan.options.script_args else None
    if isinstance(parsing, tuple):
        module, node, why = parsing
        yield Ruling.refuse(
            "PT103",
            (module, node),
            f"the script cannot be given the options of the process group: {why}",
            "leave out --script-args: the launcher's environment says the same",
        )
        return
    yield Ruling.apply(
        "PT101",
        (plan.entry, start.parsed or start.first),
        "the process group is joined here",
        data=Joining(start, parsing),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the set-up function and that of its counterpart."""
    joining: Joining = ruling.data
    start, parsing = joining.start, joining.parsing
    setup = plan.names_in(plan.entry).fresh("setup_distributed")
    cleanup = plan.names_in(plan.entry).fresh("cleanup_distributed")
    waits_long = any(True for _ in rulings.of("prepare-once", Verdict.APPLY))
    plan.helpers.update(variants(plan, waits_long))
    yield Helper("setup_distributed", plan.entry)
    yield Helper("cleanup_distributed", plan.entry)
    source = plan.entry.source
    lines = [f"{setup}({call_of(plan.options, model_place(plan))})"]
    if plan.options.check_launch:
        yield Helper("check_launch", plan.entry)
        lines.insert(0, f"{plan.names_in(plan.entry).fresh('check_launch')}()")
    guarded = start.function is None and not inside_main_guard(plan, start)
    if parsing is not None:
        indentation = len(source.indentation_of(source.span(start.first).start))
        lines[-1:] = written_call(setup, parsing.given, indentation + 4 * guarded)
        for change in insert_before(source, parsing.statement, parsing.lines(plan), order=-10):
            yield In(plan.entry, change)
    if guarded:
        lines = ['if __name__ == "__main__":', *(f"    {line}" for line in lines)]
    for change in set_up_edits(plan, start, lines):
        yield In(plan.entry, change)
    leaving = [f"{cleanup}()"]
    later = block_of_later_waits(plan, start, rulings)
    if later is not None:
        start = Start(plan.entry, None, later, 0, start.first, start.last, None, None)
    if start.function is not None and returns_early(start.function) and start.entered:
        changes = leave_behind(plan, plan.entry, start.entered, True, leaving)
    else:
        changes = leave_at_end(plan, plan.entry, start.block, start.last, leaving)
    for change in changes:
        yield In(plan.entry, change)


def block_of_later_waits(plan: Plan, start: Start, rulings: Rulings) -> cst.CSTNode | None:
    """The block around the call of the start's function whose processes wait behind that call.

    They must not have left the process group by then: a barrier without one lets everybody pass.
    """
    if start.function is None or start.entered is None:
        return None
    source = plan.entry.source
    outer: cst.CSTNode | None = None
    for ruling in rulings.of("wait-before-reading", Verdict.APPLY):
        calls = ruling.data.read.calls()
        if ruling.module is not plan.entry or ruling.node is None:
            continue
        if any(call.function.node is start.function for call in calls):
            continue
        around = list(source.parents(start.entered))
        common = [
            block
            for block in source.parents(ruling.node)
            if isinstance(block, (cst.IndentedBlock, cst.Module))
            and any(block is other for other in around)
        ]
        if common and (outer is None or source.span(common[0]).contains(source.span(outer))):
            outer = common[0]
    return outer


def set_up_edits(plan: Plan, start: Start, lines: list[str]) -> Iterable[Edit]:
    """The edits that put the set-up call into its place."""
    source = plan.entry.source
    if start.parsed is not None:
        return insert_after(source, start.parsed, lines, order=-10)
    return foremost(insert_before(source, set_up_statement(start), lines, order=-10))


def foremost(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Insertions that stand in front of all that others put before the same statement.

    A data set that is moved out of a loader's call may draw random numbers: the processes must
    agree on them first.
    """
    return tuple(
        (
            replace(edit, side="plain", anchor=None)
            if isinstance(edit, Insert) and edit.side == "before"
            else edit
        )
        for edit in edits
    )
