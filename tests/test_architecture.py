"""Imports run one way; see CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From each part of the tool to the parts that it must not know, directly or through others.
# A part is a module or package below transpile/; "rules" stands for transpile.rules.
FORBIDDEN = {
    "rules": {"catalog", "checks", "engine", "cli", "output", "report", "launch", "verify"},
    "engine": {"cli", "output", "report", "launch", "verify"},
    "auditing": {"cli", "output", "report", "launch", "verify"},
    "report": {"catalog", "engine", "rules", "cli", "output", "launch", "verify"},
    "launch": {"catalog", "engine", "rules", "cli", "output", "report", "verify"},
    "verify": {"cli", "engine", "catalog", "rules", "output", "report", "launch"},
    "configuration": {"catalog", "engine", "rules", "cli", "output", "report", "launch", "verify"},
    "acceptance": {"catalog", "engine", "rules", "cli", "output", "report", "launch", "verify"},
    "editor": {"cli", "output", "launch", "verify"},
    "output": {"catalog", "engine", "rules", "cli", "report", "launch", "verify"},
}
# The machine underneath the engine: it knows neither rules nor those who call it.
MACHINE = {
    "text",
    "facts",
    "project",
    "plan",
    "quantity",
    "rows",
    "evaluation",
    "once",
    "backends",
    "rule",
    "layout",
}
MACHINE |= {"audit", "finding", "options", "result", "records", "helpers"}
for part in MACHINE:
    FORBIDDEN[part] = {"catalog", "engine", "rules", "cli", "output", "report", "launch", "verify"}

LIBCST = {"libcst", "libcst._nodes.internal"}


@dataclass(frozen=True)
class Import:
    """One imported name: ``from module import name``; the name is empty for ``import module``."""

    importer: str
    module: str
    name: str
    line: int
    for_types: bool
    lazy: bool


@cache
def modules() -> dict[str, Path]:
    """Every module of the tool under the name that it is installed as."""
    found = {}
    for folder, package in ((ROOT / "transpile", "transpile"), (ROOT / "rules", "transpile.rules")):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((package, *parts))] = path
    return found


def imports_of(name: str, is_package: bool, text: str) -> Iterator[Import]:
    """The imports of a module, wherever they stand."""

    def visit(node: ast.AST, for_types: bool, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, "", node.lineno, for_types, lazy)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                base = name.split(".")
                base = base[: len(base) - node.level + is_package]
                module = ".".join([*base, module] if module else base)
            for alias in node.names:
                yield Import(name, module, alias.name, node.lineno, for_types, lazy)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for statement in node.body:
                yield from visit(statement, True, lazy)
            for statement in node.orelse:
                yield from visit(statement, for_types, lazy)
        else:
            lazy = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for child in ast.iter_child_nodes(node):
                yield from visit(child, for_types, lazy)

    yield from visit(ast.parse(text), False, False)


@cache
def all_imports() -> list[Import]:
    return [
        found
        for name, path in modules().items()
        for found in imports_of(name, path.stem == "__init__", path.read_text("utf-8"))
    ]


def part_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "transpile" and len(parts) > 1 else ""


def targets(found: Import, known: set[str]) -> set[str]:
    """The modules of the tool that an import names."""
    candidates = {found.module, f"{found.module}.{found.name}"}
    return candidates & known


def forbidden(imports: list[Import], known: set[str]) -> list[str]:
    """The ways from a part to one that it must not know."""
    edges: dict[str, dict[str, Import]] = {}
    for found in imports:
        # The package's own __init__ broadcasts names of every part, lazily.
        if found.importer != "transpile":
            for target in targets(found, known):
                edges.setdefault(part_of(found.importer), {}).setdefault(part_of(target), found)
    problems = []
    for part, unknown in FORBIDDEN.items():
        pending, seen = [part], {part}
        while pending:
            for target, found in edges.get(pending.pop(), {}).items():
                if target in unknown:
                    problems.append(f"{part} reaches {target}: {found.importer}:{found.line}")
                if target and target not in seen:
                    seen.add(target)
                    pending.append(target)
    return problems


def test_no_part_knows_what_it_must_not() -> None:
    assert forbidden(all_imports(), set(modules())) == []


@pytest.mark.parametrize(
    ("importer", "text", "problem"),
    [
        (
            "transpile.rules.pytorch.wrap",
            "from transpile.engine import convert",
            "rules reaches eng",
        ),
        ("transpile.rules.pytorch.wrap", "from transpile import engine", "rules reaches engine"),
        ("transpile.rules.pytorch.wrap", "def f():\n    import transpile.cli", "rules reaches cli"),
        ("transpile.text.source", "from ..engine import convert", "text reaches engine"),
        ("transpile.engine", "from transpile.report import text", "engine reaches report"),
        ("transpile.report.text", "from transpile.catalog import rules", "report reaches catalog"),
    ],
)
def test_the_check_sees_it(importer: str, text: str, problem: str) -> None:
    known = {*modules(), "transpile.engine", "transpile.catalog", "transpile.rules.pytorch.wrap"}
    found = [*all_imports(), *imports_of(importer, False, text)]
    assert any(each.startswith(problem) for each in forbidden(found, known))


def test_nothing_imports_the_command_but_its_start() -> None:
    importers = {found.importer for found in all_imports() if part_of(found.module) == "cli"}
    outside = {importer for importer in importers if part_of(importer) != "cli"}
    assert outside == {"transpile.__main__"}


def test_rules_are_imported_under_their_installed_name_alone() -> None:
    wrong = [found for found in all_imports() if found.module.split(".")[0] == "rules"]
    assert wrong == []


def test_no_rule_uses_a_private_name_of_another_module() -> None:
    wrong = [
        f"{found.importer}:{found.line} {found.name}"
        for found in all_imports()
        if part_of(found.importer) == "rules"
        and found.module.split(".")[0] == "transpile"
        and found.name.startswith("_")
        and f"{found.module}.{found.name}" not in modules()
    ]
    assert wrong == []


def test_frameworks_know_nothing_of_each_other() -> None:
    def framework(module: str) -> str:
        parts = module.split(".")
        return parts[2] if parts[:2] == ["transpile", "rules"] and len(parts) > 2 else ""

    wrong = [
        f"{found.importer}:{found.line}"
        for found in all_imports()
        if framework(found.importer)
        and framework(found.module)
        and framework(found.importer) != framework(found.module)
    ]
    assert wrong == []


def test_only_the_core_of_libcst_is_imported() -> None:
    wrong = [
        f"{found.importer}:{found.line} {found.module}"
        for found in all_imports()
        if found.module.split(".")[0] == "libcst"
        and (found.module not in LIBCST or found.name in ("matchers", "codemod", "metadata"))
    ]
    assert wrong == []


def test_run_time_dependencies_are_the_declared_ones() -> None:
    import sys

    allowed = {"transpile", "libcst", "click", "rich", "ruamel", *sys.stdlib_module_names}
    allowed |= {"msgspec", "pathspec", "tomli"}
    wrong = {
        (found.importer, found.module)
        for found in all_imports()
        if found.module.split(".")[0] not in allowed
        # The ranks of an audit run where the script's framework is.
        and not found.importer.startswith("transpile.verify.worker")
        # The language server is an extra.
        and not found.importer.startswith("transpile.editor")
        # Read as text, never imported.
        and ".emitted." not in found.importer
    }
    assert wrong == set()


def test_no_cycle_of_imports() -> None:
    known = set(modules())
    edges: dict[str, set[str]] = {}
    for found in all_imports():
        if not found.for_types and not found.lazy:
            edges.setdefault(found.importer, set()).update(targets(found, known))
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for target in sorted(edges.get(name, set()) - {name}):
                # A package is imported before its modules, and may import them.
                if not name.startswith(f"{target}."):
                    visit(target, (*trail, name))
            done.add(name)

    for name in sorted(known):
        visit(name, ())


def bound(tree: ast.Module) -> set[str]:
    """The names that the statements of a module bind, whatever they stand in."""
    names: set[str] = set()
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        pending += ast.iter_child_nodes(node)
    return names


def missing(imports: list[Import], found_in: Mapping[str, Path]) -> list[str]:
    """Imports of modules that are not there, and of names that their modules do not have."""
    names = {name: bound(ast.parse(path.read_text("utf-8"))) for name, path in found_in.items()}
    return [
        f"{each.importer}:{each.line} imports {each.name} of {each.module}"
        for each in imports
        if each.module.partition(".")[0] == "transpile"
        if each.module not in names
        or (
            each.name
            and "__getattr__" not in names[each.module]
            and each.name not in names[each.module]
            and f"{each.module}.{each.name}" not in names
        )
    ]


def test_what_is_imported_is_there() -> None:
    """Inside functions, too; the type checker takes ``transpile.rules`` on trust."""
    assert missing(all_imports(), modules()) == []


@pytest.mark.parametrize(
    "text", ["from transpile.text.span import Spam\n", "def f():\n    import transpile.test.span\n"]
)
def test_an_import_of_nothing_is_seen(text: str) -> None:
    assert len(missing(list(imports_of("transpile.facts.x", False, text)), modules())) == 1


#: The parts that start, run or name scripts of one framework by its name.
FRAMEWORK_PARTS = {"launch", "verify", "cli", "options"}


def test_the_machine_names_no_function_of_a_framework() -> None:
    """What a framework calls its things stands in its table."""
    foreign = re.compile(r"(torch|torchvision|torchdata|mxnet|gluoncv|paddle|singa|tensorflow)\.\w")
    found = []
    for name, path in modules().items():
        part = name.split(".")[1] if "." in name else ""
        if part == "rules" or part in FRAMEWORK_PARTS:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        found += [
            f"{name}:{node.lineno}: {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and foreign.match(node.value)
        ]
    assert not found


#: What a reader takes in at once: the lines of a module, and the modules of a folder.
MOST_LINES, MOST_FILES = 400, 25


def too_long(texts: Mapping[str, str]) -> list[str]:
    """Modules with more lines than one job needs."""
    lengths = {name: len(text.splitlines()) for name, text in texts.items()}
    return [f"{name}: {length} lines" for name, length in lengths.items() if length > MOST_LINES]


def too_full(paths: Iterable[Path]) -> list[str]:
    """Folders with more modules than one subject has."""
    found = Counter(path.parent for path in paths)
    return [f"{folder}: {count} files" for folder, count in found.items() if count > MOST_FILES]


def test_no_module_is_too_long() -> None:
    """Move a part with a job of its own into a module beside it."""
    assert too_long({name: path.read_text("utf-8") for name, path in modules().items()}) == []


def test_no_folder_is_too_full() -> None:
    """Move the modules of one subject into a folder named after it."""
    assert too_full(path.relative_to(ROOT) for path in modules().values()) == []


def test_a_line_or_a_file_too_many_is_seen() -> None:
    assert too_long({"as.long": "x\n" * 400, "longer": "x\n" * 401}) == ["longer: 401 lines"]
    full = [Path("full", f"{number}.py") for number in range(25)]
    assert too_full([*full, Path("full", "beside", "other.py")]) == []
    assert too_full([*full, Path("full", "other.py")]) == ["full: 26 files"]
