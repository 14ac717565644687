"""What is looked at once every rule has decided."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from transpile import Options, Verdict, catalog
from transpile.checks.unclaimed import met_by_some
from transpile.facts.interpreter import interpret
from transpile.facts.module import Module
from transpile.plan.effects.treatment import Run
from transpile.plan.model import Plan
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.rule import Helper, Ruling
from transpile.text.source import read_source

SCRIPT = """\
from helpers import average


def report(loss):
    print(average(loss))


report(1)
"""
HELPERS = "def average(loss):\n    return loss * 2\n"


def plan_in(folder: Path) -> Plan:
    """The plan of the script beside its helpers."""
    (folder / "helpers.py").write_text(HELPERS)
    project = Project(read_source(SCRIPT.encode(), "train.py"), folder)
    table = catalog.table("pytorch")
    return build_plan(interpret(project.entry, table.dialect, project.find), table, Options())


def line(module: Module, text: str) -> cst.SimpleStatementLine:
    """The statement of a module with that text."""
    return next(
        node
        for node in module.source.nodes
        if isinstance(node, cst.SimpleStatementLine) and module.source.code(node).strip() == text
    )


@pytest.mark.parametrize(
    ("guarded", "helper", "refused"),
    [
        ("report(1)", "reduce_mean", True),
        ("print(average(loss))", "reduce_mean", True),
        ("report(1)", "get_world_size", False),
        ("report(1)", "main_process_first", True),
        ("from helpers import average", "reduce_mean", False),
    ],
)
def test_what_one_process_comes_to_alone_may_not_lead_to_where_all_meet(
    tmp_path: Path, guarded: str, helper: str, refused: bool
) -> None:
    plan = plan_in(tmp_path)
    entry, helpers = plan.entry, plan.facts.modules["helpers"]
    run = Run(entry, tuple(line(entry, guarded).body), ())
    guard = Ruling("PT511", Verdict.APPLY, entry, run.statements[0], "once", data=run)
    inner = Ruling("PT601", Verdict.APPLY, helpers, line(helpers, "return loss * 2"), "reduced")
    asked = [(guard, [Helper("is_main_process", entry)]), (inner, [Helper(helper, helpers)])]
    assert [remark.code for remark in met_by_some(plan, asked)] == ["DT010"] * refused


def test_what_is_bound_before_a_guard_is_no_matter_of_one_process(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    entry, helpers = plan.entry, plan.facts.modules["helpers"]
    statement = line(entry, "print(average(loss))").body[0]
    assert isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call)
    run = Run(entry, (statement,), (), (statement.value.args[0].value,))
    guard = Ruling("PT511", Verdict.APPLY, entry, statement, "once", data=run)
    inner = Ruling("PT601", Verdict.APPLY, helpers, line(helpers, "return loss * 2"), "reduced")
    asked = [(guard, [Helper("is_main_process", entry)]), (inner, [Helper("reduce_mean", helpers)])]
    assert not list(met_by_some(plan, asked))
