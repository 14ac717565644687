"""Which of Fluid's programs a value stands for."""

from __future__ import annotations

from transpile.plan.model import Plan
from transpile.plan.programs import MAIN, STARTUP, Program, Programs, Words
from transpile.plan.query import query

__all__ = ["MAIN", "STARTUP", "Program", "programs_of"]

WORDS = Words(
    main="paddle.fluid.default_main_program",
    startup="paddle.fluid.default_startup_program",
    made="paddle.fluid.Program",
    compiled="paddle.fluid.CompiledProgram",
    guard="paddle.fluid.program_guard",
)


@query
def programs_of(plan: Plan) -> Programs:
    """The programs of a plan; found once for all rules."""
    return Programs(plan, WORDS)
