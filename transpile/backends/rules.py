"""The rules in common, made for one framework."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from string import Template
from types import ModuleType

from transpile.backends import (
    refuse_own_processes,
    refuse_uneven_noise,
    remark_on_padding,
    shard_evaluation,
    unwrap_model,
)
from transpile.backends.backend import Backend
from transpile.plan.model import Plan
from transpile.rule import Change, Rule, Ruling, Rulings

COMMON = (
    refuse_own_processes,
    refuse_uneven_noise,
    remark_on_padding,
    shard_evaluation,
    unwrap_model,
)


def common_rules(backend: Backend) -> tuple[Rule, ...]:
    """The rules in common in the words of a framework."""
    return tuple(made(module, backend) for module in COMMON)


def made(module: ModuleType, backend: Backend) -> Rule:
    """One rule of a framework: its module takes the backend first."""
    words = {name: text.replace("\n", "\n    ") for name, text in backend.words.items()}
    return Rule(
        name=module.__name__.rpartition(".")[2].replace("_", "-"),
        codes={f"{backend.prefix}{number}": title for number, title in module.CODES.items()},
        decide=partial(module.decide, backend),
        edits=partial(getattr(module, "edits", no_edits), backend),
        doc=Template(module.__doc__ or "").substitute(words),
        framework=backend.framework,
        ways=frozenset(getattr(module, "WAYS", ("data", "calls"))),
        leaves=frozenset(getattr(module, "LEAVES", ("none",))),
        sure=frozenset(f"{backend.prefix}{number}" for number in getattr(module, "SURE", ())),
    )


def no_edits(backend: Backend, plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterable[Change]:
    """The edits of a rule that only looks."""
    return ()
