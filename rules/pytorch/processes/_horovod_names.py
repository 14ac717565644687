"""Where a module uses Horovod: its imports, and every use of the name that it is imported by."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.records import dataclass

LIBRARY = "horovod"
PACKAGE = "horovod.torch"


@dataclass(frozen=True, eq=False)
class Use:
    """A use of a name of Horovod.

    Args:
        name: the name, from the package on.
        node: the expression that says it.
        call: the call of it; None where it is not called.
        is_argument: it is the value of an argument of another call of Horovod.
        is_argument_of_none: it says that nothing is compressed.
        is_statement: nothing is done with what the call gives.
        target: what the call is assigned to, as a text.
        same: the statement that would assign a name to itself without the call.
    """

    name: str
    node: cst.CSTNode
    call: cst.Call | None = None
    is_argument: bool = False
    is_argument_of_none: bool = False
    is_statement: bool = False
    target: str = ""
    same: cst.CSTNode | None = None


def imports(module: Module) -> Iterator[tuple[cst.CSTNode, str]]:
    """The imports of Horovod, and why one cannot go."""
    for node in module.source.nodes:
        if isinstance(node, cst.Import):
            names = [module.source.code(alias.name) for alias in node.names]
            if any(name.split(".")[0] == LIBRARY for name in names):
                is_known = names == [PACKAGE] and node.names[0].asname is not None
                is_known |= names == [LIBRARY] and only_starts(module, node)
                yield node, "" if is_known else "it is not imported as `horovod.torch as ...` alone"
        elif isinstance(node, cst.ImportFrom) and node.module is not None and not node.relative:
            name = module.source.code(node.module)
            if name.split(".")[0] == LIBRARY:
                is_known = name == LIBRARY and len(alias_of(node)) == 1
                yield node, "" if is_known else "its functions are imported one by one"


def only_starts(module: Module, node: cst.Import) -> bool:
    """Whether the library itself is imported for nothing but ``horovod.run(...)``."""
    if node.names[0].asname is not None:
        return False
    said = [one for one in module.source.nodes_of(cst.Name) if one.value == LIBRARY]
    of_import = module.source.span(node)
    said = [one for one in said if not of_import.contains(module.source.span(one))]
    known = {id(call.func.value) for call in starts(module) if isinstance(call.func, cst.Attribute)}
    others = (cst.ImportAlias, cst.Attribute)
    return all(
        id(one) in known
        or (
            isinstance(module.source.parent(one), others)
            and isinstance(around_import(module, one), (cst.Import, cst.ImportFrom))
        )
        for one in said
    )


def around_import(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The import that a name stands in; None where it stands in none."""
    kinds = (cst.Import, cst.ImportFrom)
    return next((one for one in module.source.parents(node) if isinstance(one, kinds)), None)


def starts(module: Module) -> Iterator[cst.Call]:
    """The calls of ``horovod.run``, whose results nobody uses."""
    for call in module.source.nodes_of(cst.Call):
        if module.source.code(call.func) == f"{LIBRARY}.run":
            if isinstance(module.source.parent(call), cst.Expr):
                yield call


def aliases(module: Module) -> set[str]:
    """The names that the package is imported by."""
    found = set()
    for node, why in imports(module):
        if why:
            continue
        if isinstance(node, cst.Import) and node.names[0].asname is not None:
            found.add(module.source.code(node.names[0].asname.name))
        elif isinstance(node, cst.ImportFrom):
            found.update(alias_of(node))
    return found


def alias_of(node: cst.ImportFrom) -> list[str]:
    """The name that ``from horovod import torch as ...`` gives; none for other imports."""
    if isinstance(node.names, cst.ImportStar) or len(node.names) != 1:
        return []
    (alias,) = node.names
    if not isinstance(alias.name, cst.Name) or alias.name.value != "torch":
        return []
    if alias.asname is None or not isinstance(alias.asname.name, cst.Name):
        return []
    return [alias.asname.name.value]


def named(module: Module) -> Iterator[cst.Name]:
    """Every place that says a name that Horovod is imported by, but for the imports."""
    known = aliases(module)
    for name in module.source.nodes_of(cst.Name) if known else ():
        parent = module.source.parent(name)
        if name.value not in known or isinstance(parent, (cst.AsName, cst.Arg)):
            if not (isinstance(parent, cst.Arg) and parent.value is name and name.value in known):
                continue
        if isinstance(parent, cst.Attribute) and parent.attr is name:
            continue
        yield name


def misused(module: Module) -> Iterator[tuple[cst.CSTNode, str]]:
    """The places where the name stands for something else, or for the package as a value."""
    for name in named(module):
        parent = module.source.parent(name)
        if not isinstance(parent, cst.Attribute):
            yield name, f"`{name.value}` is used as a value, or means something else, too"


def uses(module: Module) -> Iterator[Use]:
    """The uses of names of the package."""
    source = module.source
    for name in named(module):
        node: cst.CSTNode = name
        parts = []
        parent = source.parent(node)
        while isinstance(parent, cst.Attribute) and parent.value is node:
            parts.append(parent.attr.value)
            node, parent = parent, source.parent(parent)
        if not parts:
            continue
        dotted = ".".join(parts)
        if isinstance(parent, cst.Call) and parent.func is node:
            yield called(module, dotted, node, parent)
            continue
        call = source.parent(parent) if isinstance(parent, cst.Arg) else None
        of_horovod = (
            isinstance(call, cst.Call)
            and text_of(module, call.func) != source.code(call.func)
            and isinstance(parent, cst.Arg)
            and parent.keyword is not None
        )
        is_none = of_horovod and dotted == "Compression.none"
        yield Use(dotted, node, is_argument=of_horovod, is_argument_of_none=is_none)


def called(module: Module, dotted: str, node: cst.CSTNode, call: cst.Call) -> Use:
    """A call, with what becomes of its result."""
    source = module.source
    around = source.parent(call)
    target = ""
    same = None
    if isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = source.code(around.targets[0].target)
        if call.args and source.code(call.args[0].value) == target:
            same = around
    return Use(
        dotted, node, call, is_statement=isinstance(around, cst.Expr), target=target, same=same
    )


def text_of(module: Module, node: cst.CSTNode) -> str:
    """The text of an expression, names of Horovod without the package."""
    text = module.source.code(node)
    for alias in aliases(module):
        text = text.removeprefix(f"{alias}.")
    return text
