"""Where the processes leave each other: behind all training, and before what ends the process."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.layout import append_to_body, insert_after, insert_before
from transpile.layout.lines import in_file_style
from transpile.plan.flow.start import is_main_guard
from transpile.plan.model import Plan
from transpile.text.edit import Edit, Insert, Replace
from transpile.text.span import Span

#: What ends the process when it is called.
ENDINGS = frozenset(
    {"sys.exit", "builtins.exit", "builtins.quit", "os._exit", "builtins.SystemExit"}
)


def leave_at_end(
    plan: Plan, module: Module, block: cst.CSTNode, trains: object, lines: list[str]
) -> tuple[Edit, ...]:
    """The lines that leave, at the end of a block.

    Args:
        plan: the plan.
        module: the module of the block.
        block: the body of a module, a function or a main guard.
        trains: the last statement of the block in which anything happens that must come before.
        lines: the lines.
    """
    last = block.body[-1]  # type: ignore[attr-defined]
    if isinstance(block, cst.Module) and isinstance(last, cst.If) and is_main_guard(last):
        inner = last.body.body[-1]
        if isinstance(last.body, cst.IndentedBlock) and ends(plan, inner):
            return leave_behind(plan, module, inner, trains is last, lines)
        return append_to_body(module.source, last, lines)
    return leave_behind(plan, module, last, trains is last, lines)


def leave_behind(
    plan: Plan, module: Module, statement: cst.CSTNode, trains: bool, lines: list[str]
) -> tuple[Edit, ...]:
    """The lines that leave, behind a statement, or before it where it is the end of all.

    Args:
        plan: the plan.
        module: the module of the statement.
        statement: the statement.
        trains: the statement itself does what must come before.
        lines: the lines.
    """
    source = module.source
    if not ends(plan, statement):
        return insert_after(source, statement, lines)  # type: ignore[arg-type]
    assert isinstance(statement, cst.SimpleStatementLine)
    end = statement.body[-1]
    computed = computed_in(end)
    if not trains or computed is None or "#" in source.code(end):
        return insert_before(source, statement, lines)
    # ``sys.exit(main())``: what it computes comes first.
    inner, outer = source.span(computed), source.span(end)
    before, after = source.text[outer.start : inner.start], source.text[inner.end : outer.end]
    name = plan.names_in(module).fresh("result" if isinstance(end, cst.Return) else "status")
    again = f"{before.strip()}{' ' * isinstance(end, cst.Return)}{name}{after.strip()}"
    behind = in_file_style(source, [*lines, again], source.indentation_of(outer.start))
    newline = source.newline
    return (
        Replace(Span(outer.start, inner.start), f"{name} = "),
        Insert(outer.end, "".join(f"{newline}{line}" for line in behind)),
        *((Replace(Span(inner.end, outer.end), ""),) if after else ()),
    )


def ends(plan: Plan, statement: cst.CSTNode) -> bool:
    """Whether nothing behind a statement is reached: it returns, or ends the process."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    end = statement.body[-1]
    if isinstance(end, cst.Return):
        return True
    call = end.value if isinstance(end, cst.Expr) else getattr(end, "exc", None)
    if len(statement.body) > 1:
        return False
    callee = call.func if isinstance(call, cst.Call) else call
    return any(
        isinstance(value, External) and value.name in ENDINGS
        for value in plan.facts.values_of(callee)
    )


def computed_in(end: cst.BaseSmallStatement) -> cst.Call | None:
    """The one call that a statement computes before it ends all; None for anything else."""
    value: cst.CSTNode | None = getattr(end, "exc", None)
    if isinstance(end, cst.Return):
        value = end.value
        return value if isinstance(value, cst.Call) and not value.lpar else None
    if isinstance(end, cst.Expr):
        value = end.value
    if not isinstance(value, cst.Call) or len(value.args) != 1 or value.lpar:
        return None
    given = value.args[0]
    if given.star or given.keyword is not None or not isinstance(given.value, cst.Call):
        return None
    return given.value if not given.value.lpar else None
