"""No print of an output waits for other processes, so that it can be moved or taken away."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import Case, cases
from ranks import run_ranks

#: Helpers in which all processes meet.
MEETING = frozenset(
    {
        "reduce_sum", "reduce_mean", "reduce_means", "reduce_number", "reduce_shards",
        "average_numbers", "average_meters", "sum_numbers", "sum_totals", "barrier", "any_rank",
        "all_ranks", "from_main_process",
    }
)  # fmt: skip
#: Notes each collective of a process, in their order.
COUNTING = """\
import atexit as _atexit, os as _os
_met = []
def _counted(word, call):
    def counted(*given, **named):
        _met.append(word)
        return call(*given, **named)
    return counted
for _word in ("all_reduce", "broadcast", "all_gather", "broadcast_object_list", "barrier"):
    setattr(dist, _word, _counted(_word, getattr(dist, _word)))
_atexit.register(lambda: open("met_" + _os.environ["RANK"], "w").write(" ".join(_met)))
"""
JOINING = "import torch.distributed as dist\n"
CONVERTED = [case for case in cases("pytorch") if case.expect == "converted"]


def meetings_in_prints(tree: ast.AST) -> Iterator[str]:
    """The calls of such helpers in the arguments of prints."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id in ("print", "print_once"):
            for part in (each for given in node.args for each in ast.walk(given)):
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
                    if part.func.id in MEETING:
                        yield ast.unparse(node)


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_prints_wait_for_nobody(case: Case) -> None:
    assert not list(meetings_in_prints(ast.parse(case.expected_output.read_bytes())))


class Mutant(ast.NodeTransformer):
    """Takes prints away, or puts them at the end of their block."""

    def __init__(self, *, moves: bool) -> None:
        self.moves = moves
        self.count = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Change the blocks of a node."""
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and not isinstance(node, (ast.Lambda, ast.IfExp)):
                prints = [each for each in block if is_print(each)]
                others = [each for each in block if not is_print(each)]
                self.count += len(prints)
                filled = others or [ast.Pass()] * bool(prints)
                setattr(node, field, [*filled, *(prints if self.moves else ())])
        return node


def is_print(node: ast.AST) -> bool:
    """Whether a statement is nothing but a print."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    return isinstance(node.value.func, ast.Name) and node.value.func.id in ("print", "print_once")


def meetings(case: Case, text: str, folder: Path) -> list[str]:
    """The collectives of each of two ranks of a script, all of which must end well."""
    shutil.copytree(case.folder, folder)
    script = folder / "mutant.py"
    assert JOINING in text
    script.write_text(text.replace(JOINING, JOINING + COUNTING))
    for ended in run_ranks(script, 2, limit=120):
        assert ended.status == 0, ended.errors
    return [(folder / f"met_{rank}").read_text() for rank in range(2)]


@pytest.mark.parametrize("name", ["average_meters", "early_stopping", "eval_shard_meters"])
def test_ranks_meet_alike_whatever_becomes_of_prints(name: str, tmp_path: Path) -> None:
    case = next(each for each in CONVERTED if each.folder.name == name)
    text = case.expected_output.read_text("utf-8")
    expected = meetings(case, text, tmp_path / "as_it_is")
    assert expected[0].split().count("all_reduce") > 2
    for moves in (False, True):
        mutant = Mutant(moves=moves)
        changed = ast.unparse(mutant.visit(ast.parse(text)))
        assert mutant.count
        found = meetings(case, changed, tmp_path / f"{'moved' if moves else 'removed'}")
        assert found == expected == [expected[0]] * 2
