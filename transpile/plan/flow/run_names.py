"""The names that a run of statements binds, and whether others read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.plan.effects.treatment import (
    Once,
    Statement,
    binds_names,
    bound_names,
    descendants,
    header_names,
    parameters_of,
    target_names,
)


class RunNames:
    """Tells which names a run cannot keep to itself.

    Args:
        once: the effects.
        module: the module.
    """

    def __init__(self, once: Once, module: Module) -> None:
        self.once = once
        self.source = module.source

    def leaking(self, run: Sequence[Statement]) -> Iterator[Statement]:
        """The statements of a run that bind a name which is read elsewhere."""
        if self.in_class_body(run[0]):
            # They are attributes.
            yield from (statement for statement in run if bound_names(statement))
            return
        if not any(bound_names(statement) for statement in run):
            return
        own = {id(name) for statement in run for name in descendants(statement, (cst.Name,))}
        start, end = self.source.span(run[0]).start, self.source.span(run[-1]).end
        occurrences = self.names_around(run[0])
        shared = self.shared_names(run[0])
        for statement in run:
            for word in bound_names(statement):
                names = occurrences.get(word, ())
                if (
                    word in shared
                    or any(
                        id(name) not in own and not self.bound_anew(name, start, end)
                        for name in names
                    )
                    or self.is_carried(word, run, names)
                ):
                    yield statement
                    break

    def in_class_body(self, statement: cst.CSTNode) -> bool:
        """Whether a statement belongs to the body of a class, not to a function."""
        for parent in self.source.parents(statement):
            if isinstance(parent, cst.FunctionDef):
                return False
            if isinstance(parent, cst.ClassDef):
                return True
        return False

    def names_around(self, statement: cst.CSTNode) -> dict[str, list[cst.Name]]:
        """Every occurrence of every name in the function (or module) around a statement."""
        scope = next(
            parent
            for parent in self.source.parents(statement)
            if isinstance(parent, (cst.FunctionDef, cst.Module))
        )
        known = self.once.names.get(id(scope))
        if known is None:
            known = {}
            for name in descendants(scope, (cst.Name,)):
                assert isinstance(name, cst.Name)
                known.setdefault(name.value, []).append(name)
            self.once.names[id(scope)] = known
        return known

    def shared_names(self, statement: cst.CSTNode) -> set[str]:
        """The names that the function around a statement shares with the outside."""
        for scope in self.source.parents(statement):
            if isinstance(scope, cst.FunctionDef):
                return {
                    item.name.value
                    for declaration in descendants(scope.body, (cst.Global, cst.Nonlocal))
                    for item in declaration.names  # type: ignore[attr-defined]
                }
        return set()

    def is_carried(self, word: str, run: Sequence[Statement], names: Sequence[cst.Name]) -> bool:
        """Whether a run hands a name on to its own next round: ``best = max(best, score)``."""
        around = next(
            (
                parent
                for parent in self.source.parents(run[0])
                if isinstance(parent, (cst.For, cst.While, cst.FunctionDef))
            ),
            None,
        )
        if not isinstance(around, (cst.For, cst.While)) or not self.read_first(word, run):
            return False
        start, end = self.source.span(run[0]).start, self.source.span(run[-1]).end
        loop = self.source.span(around)
        for name in names:
            place = self.source.span(name)
            if loop.contains(place) and not start <= place.start < end and self.is_bound(name):
                return False
        return True

    def read_first(self, word: str, run: Sequence[cst.CSTNode]) -> bool:
        """Whether a run reads a name before it binds it."""
        for statement in run:
            first = self.first_use(word, statement)
            if first is not None:
                return not self.is_bound(first)
        return False

    def first_use(self, word: str, node: cst.CSTNode) -> cst.Name | None:
        """The occurrence of a name in a node that comes first when it runs."""
        if isinstance(node, cst.Name):
            return node if node.value == word else None
        parts = list(children(node))
        if isinstance(node, (cst.Assign, cst.AnnAssign)) and node.value is not None:
            parts = [node.value, *parts]
        elif isinstance(node, cst.For):
            parts = [node.iter, *parts]
        elif isinstance(node, (cst.Attribute, cst.Arg)):
            parts = [node.value]
        for child in parts:
            found = self.first_use(word, child)
            if found is not None:
                return found
        return None

    def is_bound(self, name: cst.Name) -> bool:
        """Whether an occurrence of a name binds it."""
        inner: cst.CSTNode = name
        for outer in self.source.parents(name):
            if isinstance(outer, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
                inner = outer
                continue
            return isinstance(outer, cst.AsName) or (
                isinstance(outer, (cst.AssignTarget, cst.AnnAssign, cst.For, cst.CompFor))
                and outer.target is inner
            )
        return False

    def bound_anew(self, name: cst.Name, start: int, end: int) -> bool:
        """Whether an occurrence outside a run has another binding than the run's."""
        inner: cst.CSTNode = name
        word = name.value
        for outer in self.source.parents(name):
            if isinstance(outer, cst.Attribute) and outer.attr is inner:
                return True
            if isinstance(outer, cst.Arg) and outer.keyword is inner:
                return True
            if isinstance(outer, cst.AsName) or (
                isinstance(outer, (cst.AssignTarget, cst.AnnAssign, cst.For, cst.CompFor))
                and outer.target is inner
                and binds_names(inner)
            ):
                return True
            # What is bound around the run as well is the same variable.
            if isinstance(outer, (cst.With, cst.For, cst.FunctionDef, cst.Lambda)):
                place = self.source.span(outer)
                if place.start <= start and end <= place.end:
                    inner = outer
                    continue
            if isinstance(outer, (cst.With, cst.For)) and word in header_names(outer):
                return True
            if isinstance(outer, (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
                if any(
                    word in target_names(part.target)  # type: ignore[attr-defined]
                    for part in descendants(outer, (cst.CompFor,))
                ):
                    return True
            if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
                if any(parameter.name.value == word for parameter in parameters_of(outer)):
                    return True
            if isinstance(outer, (cst.IndentedBlock, cst.Module)):
                for statement in outer.body:
                    if statement is inner:
                        break
                    place = self.source.span(statement)
                    if start <= place.start and place.end <= end:
                        continue
                    between = place.start < start and end <= self.source.span(name).start
                    if not between and isinstance(statement, cst.SimpleStatementLine):
                        if any(word in bound_names(small) for small in statement.body):
                            return True
            inner = outer
        return False
