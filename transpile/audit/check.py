"""What a check of the audit is: it looks at a script run as several processes, and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transpile.audit.model import Audit
from transpile.records import dataclass
from transpile.rule import Remark


@dataclass(frozen=True, eq=False)
class Check:
    """A check of one framework, made of its module.

    Args:
        name: the module's name with hyphens.
        codes: code to a line on what it says.
        decide: what it has to say.
        doc: the module's docstring.
        framework: whose scripts it looks at.
        only_warns: nothing that it says is an error.
    """

    name: str
    codes: dict[str, str]
    decide: Callable[[Audit], Iterable[Remark]]
    doc: str
    framework: str
    only_warns: bool = False
