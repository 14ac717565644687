"""Names for what is inserted: none that the script uses already."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.layout.imports import leading_names
from transpile.records import dataclass, field
from transpile.text.source import Source


def identifiers(source: Source) -> set[str]:
    """Every name of a module that is not just one of an attribute."""
    return {
        node.value
        for node in source.nodes_of(cst.Name)
        if getattr(source.parent(node), "attr", None) is not node
    }


def takes_everything(source: Source) -> bool:
    """Whether a module imports all names of another one."""
    return any(isinstance(node.names, cst.ImportStar) for node in source.nodes_of(cst.ImportFrom))


@dataclass(eq=False)
class Names:
    """The names that one module's conversion inserts; asking twice gives the same name."""

    module: Module
    used: set[str]
    given: dict[str, str] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    def fresh(self, wanted: str, purpose: str | None = None) -> str:
        """A name like `wanted` that the script does not have.

        Args:
            wanted: the name where it is free.
            purpose: what it is for; the same purpose gets the same name. Default: `wanted`.
        """
        key = purpose or wanted
        if key not in self.given:
            name, count = wanted, 2
            while name in self.used:
                name = f"{wanted}_{count}"
                count += 1
            self.used.add(name)
            self.given[key] = name
        return self.given[key]

    def imported(self, dotted: str, wanted: str) -> str:
        """The name under which `dotted` can be used: the script's own, else a fresh one.

        A fresh one comes with an import, see :attr:`imports`. So does a name that the script
        imports only behind its leading imports, too late for what is inserted there.
        """
        scope = self.module.scope
        if scope is not None and dotted not in self.imports:
            own = [name for name, values in scope.names.items() if values == (External(dotted),)]
            early = [name for name in own if name in leading_names(self.module.source)]
            if early:
                return early[0]
            if own:
                self.imports[dotted] = import_line(dotted, own[0])
                self.given[f"import {dotted}"] = own[0]
        if dotted not in self.imports:
            name = self.fresh(wanted, f"import {dotted}")
            self.imports[dotted] = import_line(dotted, name)
        return self.given[f"import {dotted}"]


def import_line(dotted: str, name: str) -> str:
    """The import statement that binds `name` to `dotted`."""
    package, _, last = dotted.rpartition(".")
    if not package:
        return f"import {dotted}" if dotted == name else f"import {dotted} as {name}"
    if last[:1].isupper() or package in ("contextlib", "datetime"):
        return f"from {package} import {last}" + ("" if last == name else f" as {name}")
    return f"import {dotted} as {name}"
