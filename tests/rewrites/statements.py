"""The same statements in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import libcst as cst

from rewrites.scopes import COMPREHENSIONS, bound, names_read, walk

_WIDTH = 60
#: Expressions that mean something else in a function of their own.
_STAY = (cst.Await, cst.Yield, cst.NamedExpr, cst.Lambda, cst.GeneratorExp, *COMPREHENSIONS)
_SEE_SCOPES = frozenset({"super", "locals", "vars", "eval", "exec", "globals", "__class__", "dir"})


def formatted_narrowly(source: str) -> str:
    """Black in short lines."""
    import black

    return black.format_str(source, mode=black.Mode(line_length=_WIDTH))


def with_statements_that_do_nothing(source: str) -> str:
    """A string and a `pass` in every block."""
    return cst.parse_module(source).visit(_Idle()).code


def with_named_conditions(source: str) -> str:
    """What an `if` tests gets a name in the line above."""
    return cst.parse_module(source).visit(_Conditions()).code


def computed_in_functions(source: str) -> str:
    """Values that functions assign are computed by functions of one line."""
    module = cst.parse_module(source)
    lift = _Lift(set(names_read(module)))
    changed = module.visit(lift)
    if not lift.functions:
        return source
    imports = max(
        (number for number, line in enumerate(changed.body) if _imports(line)), default=-1
    )
    body = [*changed.body[: imports + 1], *lift.functions, *changed.body[imports + 1 :]]
    return changed.with_changes(body=body).code


class _Idle(cst.CSTTransformer):
    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body = list(updated_node.body)
        first = 1 if body and _is_docstring(body[0]) else 0
        body.insert(first, cst.parse_statement("pass"))
        if not _leaves(body[-1]):
            body.append(cst.parse_statement("'done'"))
        return updated_node.with_changes(body=body)


class _Conditions(cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        if _is_main(original_node.test) or not _may_be_named(original_node.test):
            return updated_node
        self.count += 1
        name = f"is_so_{self.count}"
        above = cst.SimpleStatementLine(
            [cst.Assign([cst.AssignTarget(cst.Name(name))], original_node.test)],
            leading_lines=updated_node.leading_lines,
        )
        named = updated_node.with_changes(
            test=cst.Name(name), leading_lines=(), whitespace_before_test=cst.SimpleWhitespace(" ")
        )
        return cst.FlattenSentinel([above, named])

    def visit_If(self, node: cst.If) -> bool:
        # An `elif` has no line above it.
        return not isinstance(node.orelse, cst.If)


class _Lift(cst.CSTTransformer):
    """Takes the values of assignments out of functions of the module."""

    def __init__(self, taken: set[str]) -> None:
        super().__init__()
        self.taken = taken
        self.functions: list[cst.BaseStatement] = []
        self.locals: list[set[str]] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        names = {one.value for one in walk(node) if isinstance(one, cst.Name)}
        inner = any(isinstance(one, cst.FunctionDef | cst.ClassDef) for one in walk(node.body))
        stays = inner or node.asynchronous is not None or bool(names & _SEE_SCOPES)
        parameters = {one.name.value for one in walk(node.params) if isinstance(one, cst.Param)}
        self.locals.append(set() if stays else parameters | bound([node.body]))
        return not stays

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self.locals.pop()
        return updated_node

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        value = original_node.value
        if not self.locals or not isinstance(value, cst.Call | cst.BinaryOperation):
            return updated_node
        if any(isinstance(one, _STAY) for one in walk(value)):
            return updated_node
        read = names_read(value)
        # What may be another value each time must be given; the module's own names are seen.
        given = [name for name in read if name in self.locals[-1]]
        name = f"computed_{len(self.functions) + 1}"
        if not given or name in self.taken:
            return updated_node
        text = cst.Module([]).code_for_node(value.with_changes(lpar=(), rpar=()))
        lines = f"def {name}({', '.join(given)}):\n    return ({text})\n"
        self.functions.append(cast(cst.BaseStatement, cst.parse_statement(lines)))
        call = cst.parse_expression(f"{name}({', '.join(given)})")
        return updated_node.with_changes(value=call)


def _imports(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and any(
        isinstance(small, cst.Import | cst.ImportFrom) for small in line.body
    )


def _is_docstring(line: cst.CSTNode) -> bool:
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Expr):
        return False
    return isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)


def _leaves(line: cst.CSTNode) -> bool:
    small: Sequence[cst.CSTNode] = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    return any(isinstance(one, cst.Return | cst.Raise | cst.Continue | cst.Break) for one in small)


def _is_main(test: cst.BaseExpression) -> bool:
    return "__name__" in names_read(test)


def _may_be_named(test: cst.BaseExpression) -> bool:
    return not any(isinstance(one, cst.Await | cst.Yield | cst.NamedExpr) for one in walk(test))
