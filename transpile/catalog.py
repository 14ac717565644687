"""Finding the rules: every module of a framework's package that has a ``decide``."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

# The words of frameworks are asked for where nothing is parsed: without libcst.
if TYPE_CHECKING:
    from transpile.arithmetic.vocabulary import Vocabulary
    from transpile.audit.check import Check
    from transpile.audit.vocabulary import Vocabulary as AuditVocabulary
    from transpile.plan.model import Plan
    from transpile.plan.table import Table
    from transpile.rule import Change, Rule, Ruling, Rulings

#: Folders of a framework that hold no rules: its audit, its tables, its files, what it advises.
_NOT_SUBJECTS = {"advice", "audit", "operations", "emitted"}

#: Where a table names its packages.
_PACKAGES = re.compile(r"^    packages=frozenset\((\{[^}]*\})\),$", re.MULTILINE)


def _no_edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterable[Change]:
    """The edits of a rule that only looks."""
    return ()


@cache
def frameworks() -> tuple[str, ...]:
    """The frameworks that have rules, in alphabetical order."""
    import transpile.rules

    return tuple(
        sorted(
            found.name for found in pkgutil.iter_modules(transpile.rules.__path__) if found.ispkg
        )
    )


@cache
def table(framework: str) -> Table:
    """A framework's vocabulary."""
    found: Table = import_module(f"transpile.rules.{framework}").TABLE
    return found


@cache
def packages(framework: str) -> frozenset[str]:
    """The top-level packages of a framework, told from the text of its table where that is enough.

    The table itself comes with everything that serves to follow scripts, which costs many times
    what a look at their words does.
    """
    import transpile.rules

    for folder in transpile.rules.__path__:
        with suppress(OSError, ValueError, SyntaxError):
            text = Path(folder, framework, "__init__.py").read_text("utf-8")
            found = _PACKAGES.search(text)
            if found is not None:
                return frozenset(ast.literal_eval(found[1]))
    return table(framework).packages


@cache
def vocabulary(framework: str) -> Vocabulary | None:
    """A framework's words for what the arithmetic counts; None where it has none yet."""
    package = import_module(f"transpile.rules.{framework}")
    names = {info.name for info in pkgutil.iter_modules(package.__path__)}
    if "_arithmetic" not in names:
        return None
    found: Vocabulary = import_module(f"{package.__name__}._arithmetic").VOCABULARY
    return found


def _rule_modules(framework: str) -> Iterator[str]:
    """The names of the public modules of a framework's package and of its folders of subjects."""
    package = import_module(f"transpile.rules.{framework}")
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_") or info.name in _NOT_SUBJECTS:
            continue
        if not info.ispkg:
            yield f"{package.__name__}.{info.name}"
            continue
        subject = import_module(f"{package.__name__}.{info.name}")
        for found in pkgutil.iter_modules(subject.__path__):
            if not found.ispkg and not found.name.startswith("_"):
                yield f"{subject.__name__}.{found.name}"


@cache
def rules(framework: str | None = None) -> tuple[Rule, ...]:
    """The rules of a framework, or of all, in the order of their names.

    A rule is a module of ``transpile.rules.<framework>``, or of a folder of one subject in it, with
    ``CODES`` and ``decide``; its ``edits`` may be absent, and its ``WAYS`` where it holds whatever
    the ranks shard. A module may also have ``RULES`` that it shares with other frameworks.
    """
    if framework is None:
        return tuple(rule for name in frameworks() for rule in rules(name))
    from transpile.rule import Rule

    found: list[Rule] = []
    for name in _rule_modules(framework):
        module = import_module(name)
        found.extend(getattr(module, "RULES", ()))
        if not hasattr(module, "decide"):
            continue
        found.append(
            Rule(
                name=name.rpartition(".")[2].replace("_", "-"),
                codes=dict(module.CODES),
                decide=module.decide,
                edits=getattr(module, "edits", _no_edits),
                doc=module.__doc__ or "",
                framework=framework,
                ways=frozenset(getattr(module, "WAYS", ("data", "calls"))),
                leaves=frozenset(getattr(module, "LEAVES", ("none",))),
                sure=frozenset(getattr(module, "SURE", ())),
            )
        )
    return tuple(sorted(found, key=lambda rule: rule.name))


@cache
def advice() -> dict[str, str]:
    """Why a finding matters and what to do about it, by the codes that have words of their own."""
    from transpile.once.advice import ADVICE as ONCE

    found: dict[str, str] = {}
    for framework in frameworks():
        prefix = table(framework).prefix
        found.update({f"{prefix}{number}": text for number, text in ONCE.items()})
        package = import_module(f"transpile.rules.{framework}")
        if any(info.name == "advice" for info in pkgutil.iter_modules(package.__path__)):
            found.update(import_module(f"{package.__name__}.advice").ADVICE)
    return found


@cache
def audit_vocabulary(framework: str) -> AuditVocabulary | None:
    """What the audit is told of a framework; None where it has no audit."""
    package = import_module(f"transpile.rules.{framework}")
    if not any(info.name == "audit" for info in pkgutil.iter_modules(package.__path__)):
        return None
    found: AuditVocabulary = import_module(f"{package.__name__}.audit").VOCABULARY
    return found


@cache
def checks(framework: str | None = None, *, errors_only: bool = False) -> tuple[Check, ...]:
    """The checks of a framework's audit, or of all, in the order of their names.

    A check is a module of ``transpile.rules.<framework>.audit`` with ``CODES`` and ``decide``; it
    has ``ONLY_WARNS = True`` where none of its remarks is an error: then it is not even loaded
    where only errors matter.
    """
    if framework is None:
        return tuple(check for name in frameworks() for check in checks(name))
    from transpile.audit.check import Check

    if audit_vocabulary(framework) is None:
        return ()
    package = import_module(f"transpile.rules.{framework}.audit")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            if errors_only and _only_warns(package.__path__, info.name):
                continue
            module = import_module(f"{package.__name__}.{info.name}")
            name = info.name.replace("_", "-")
            doc = module.__doc__ or ""
            only_warns: bool = getattr(module, "ONLY_WARNS", False)
            found.append(Check(name, dict(module.CODES), module.decide, doc, framework, only_warns))
    return tuple(sorted(found, key=lambda check: check.name))


def _only_warns(folders: Iterable[str], name: str) -> bool:
    """Whether the text of a check says that none of its remarks is an error."""
    for folder in folders:
        with suppress(OSError, ValueError):
            return "\nONLY_WARNS = True\n" in Path(folder, f"{name}.py").read_text("utf-8")
    return False
