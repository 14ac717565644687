"""Names of in-house code that stand for known ones."""

from __future__ import annotations

from collections.abc import Sequence

from transpile.plan.table import Table
from transpile.records import replace


def with_roles(table: Table, roles: Sequence[tuple[str, str]], apart: Sequence[str] = ()) -> Table:
    """Return a framework's vocabulary in which names of in-house code are known.

    Args:
        table: the vocabulary.
        roles: each name and the known one that it stands for; where both end in ``.*``, all below
            the first stand for what has the same name below the second. The longest name decides.
        apart: names of models that keep the samples of a batch apart.
    """
    if apart:
        table = replace(table, apart=tuple(apart))
    if not roles:
        return table
    exact = {name: known for name, known in roles if not name.endswith(".*")}
    families = sorted(
        ((name[:-1], known[:-1]) for name, known in roles if name.endswith(".*")),
        key=lambda family: -len(family[0]),
    )
    canonical = table.dialect.canonical

    def known_name(dotted: str) -> str:
        if dotted in exact:
            return canonical(exact[dotted])
        for prefix, known in families:
            if dotted.startswith(prefix):
                return canonical(known + dotted.removeprefix(prefix))
        return canonical(dotted)

    return replace(table, dialect=replace(table.dialect, canonical=known_name))
