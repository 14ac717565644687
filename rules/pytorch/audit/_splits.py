"""Wraps of the project's own that split each call over the processes and gather its rows.

Every process then has the whole batch and all outputs on purpose: what was computed from them is
equal on all, and nothing is to be sharded or summed.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.module import Module
from transpile.facts.state import Dialect
from transpile.facts.values import Class, External, Function, ModuleValue, Value
from transpile.facts.walk import descendants
from transpile.plan.query import query

GATHERS = frozenset(
    f"torch.distributed.{word}"
    for word in ("all_gather", "all_gather_into_tensor", "all_gather_coalesced")
) | {"torch.distributed.nn.functional.all_gather", "torch.distributed.nn.all_gather"}


@query
def splits_calls(audit: Audit) -> bool:
    """Whether every wrap of the script gathers what it computes from all processes."""
    own = audit.first.own_wraps
    dialect = audit.plan.table.dialect
    return bool(own) and all(GATHERS & set(called(wrap, dialect)) for wrap in own)


def called(wrap: Class | Function, dialect: Dialect) -> Iterator[str]:
    """What the call of a wrap may come to outside the project, by its names."""
    bases = wrap.ancestry() if isinstance(wrap, Class) else (wrap,)
    pending: list[tuple[cst.CSTNode, Module]] = [
        (base.node, base.module) for base in bases if isinstance(base, (Class, Function))
    ]
    seen: set[int] = set()
    while pending:
        node, module = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for part in descendants(node):
            for value in named(part, module):
                if isinstance(value, External):
                    yield dialect.canonical(value.name)
                elif isinstance(value, (Function, Class)):
                    pending.append((value.node, value.module))


def named(node: cst.CSTNode, module: Module) -> Iterator[Value]:
    """What a name, or an attribute of a module, stands for."""
    names = module.scope.names if module.scope is not None else {}
    if isinstance(node, cst.Name):
        yield from names.get(node.value, ())
    elif isinstance(node, cst.Attribute):
        for base in named(node.value, module):
            if isinstance(base, External):
                yield External(f"{base.name}.{node.attr.value}")
            elif isinstance(base, ModuleValue) and base.module.scope is not None:
                yield from base.module.scope.names.get(node.attr.value, ())
