"""Which of Fluid's programs a value stands for."""

from __future__ import annotations

from transpile.plan.model import Plan
from transpile.plan.programs import MAIN, STARTUP, Program, Programs, Words

__all__ = ["MAIN", "STARTUP", "Program", "programs_of"]

WORDS = Words(
    main="paddle.fluid.default_main_program",
    startup="paddle.fluid.default_startup_program",
    made="paddle.fluid.Program",
    compiled="paddle.fluid.CompiledProgram",
    guard="paddle.fluid.program_guard",
)


def programs_of(plan: Plan) -> Programs:
    """The programs of a plan; found once for all rules."""
    if "fluid programs" not in plan.memo:
        plan.memo["fluid programs"] = Programs(plan, WORDS)
    found: Programs = plan.memo["fluid programs"]
    return found
