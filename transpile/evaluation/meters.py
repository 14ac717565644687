"""Classes of a script whose objects add up what they are given."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, Function
from transpile.facts.walk import descendants
from transpile.plan.model import Plan

from .model import Meter, Obstacle
from .starts import is_zero


def meter(plan: Plan, text: str, cls: Class, method: Function, call: cst.CSTNode) -> Meter:
    """How an object is put together from those of all processes.

    Args:
        plan: the plan.
        text: the object's name.
        cls: its class.
        method: what the loop calls.
        call: where it does.

    Raises:
        Obstacle: it does something else than to add.
    """
    function = method.node
    if not isinstance(function, cst.FunctionDef) or method.is_generator:
        raise Obstacle(call, "it calls something that does more than to add")
    reading = Reading(plan, method.module, own_name(function))
    reading.read(function, call)
    zero = zeros(plan, cls, method.module)
    for name in reading.sums:
        if name not in zero:
            raise Obstacle(call, f"it is not seen that '{text}.{name}' begins at zero")
    if not reading.sums:
        raise Obstacle(call, "it calls something that keeps numbers in another way than adding")
    check_last(plan, reading, function, call)
    derived = tuple(
        line.replace(f"{reading.own}.", f"{text}.") for line in reading.derived.values()
    )
    return Meter(text, tuple(reading.sums), derived, tuple(reading.last))


class Reading:
    """Reads the method that adds.

    Args:
        plan: the plan.
        module: where it stands.
        own: the name of its object, such as ``self``.
    """

    def __init__(self, plan: Plan, module: Module, own: str) -> None:
        self.plan = plan
        self.module = module
        self.own = own
        self.sums: dict[str, None] = {}
        self.last: dict[str, None] = {}
        self.derived: dict[str, str] = {}

    def read(self, function: cst.FunctionDef, call: cst.CSTNode) -> None:
        """Tell what each statement does.

        Raises:
            Obstacle: one of them does something else.
        """
        smalls = list(simple_statements(function.body, call))
        for small in smalls:
            if isinstance(small, cst.AugAssign) and self.attribute(small.target):
                if not isinstance(small.operator, cst.AddAssign):
                    raise self.obstacle(call)
                self.sums[self.attribute(small.target)] = None
            elif isinstance(small, cst.Assign) and self.adds(small):
                self.sums[self.attribute(small.targets[0].target)] = None
        for small in smalls:
            self.one(small, call)
        for name in self.sums:
            if name in self.last or name in self.derived:
                raise self.obstacle(call)

    def one(self, small: cst.BaseSmallStatement, call: cst.CSTNode) -> None:
        """Check one statement.

        Raises:
            Obstacle: it does something else.
        """
        if isinstance(small, cst.Pass | cst.Assert) or is_text(small):
            return
        if isinstance(small, cst.Return) and small.value is None:
            return
        if isinstance(small, cst.AugAssign):
            if self.attribute(small.target) in self.sums and not self.reads_totals(small.value):
                return
            raise self.obstacle(call)
        if not isinstance(small, cst.Assign) or len(small.targets) != 1:
            raise self.obstacle(call)
        target = small.targets[0].target
        name = self.attribute(target)
        if isinstance(target, cst.Name):
            if self.reads_totals(small.value):
                raise self.obstacle(call)
        elif not name:
            raise self.obstacle(call)
        elif name in self.sums:
            addend = self.addend(small)
            if addend is None or self.reads_totals(addend):
                raise self.obstacle(call)
        elif not self.reads_totals(small.value):
            self.last[name] = None
        else:
            names = {n.value for n in descendants(small.value) if isinstance(n, cst.Name)}
            labels = {
                n.attr.value for n in descendants(small.value) if isinstance(n, cst.Attribute)
            }
            if names - labels - {self.own, "max", "min", "float"}:
                raise self.obstacle(call)
            if any(isinstance(n, cst.Attribute) and self.attribute(n) in self.last
                   for n in descendants(small.value)):  # fmt: skip
                raise self.obstacle(call)
            self.derived[name] = self.module.source.code(small)

    def attribute(self, node: cst.CSTNode) -> str:
        """The attribute of the object that an expression is; empty for others."""
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
            return node.attr.value if node.value.value == self.own else ""
        return ""

    def addend(self, small: cst.Assign) -> cst.BaseExpression | None:
        """What ``self.x = self.x + y`` adds."""
        value = small.value
        name = self.attribute(small.targets[0].target)
        if name and isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            if self.attribute(value.left) == name:
                return value.right
            if self.attribute(value.right) == name:
                return value.left
        return None

    def adds(self, small: cst.Assign) -> bool:
        """Whether a statement is ``self.x = self.x + y``."""
        return len(small.targets) == 1 and self.addend(small) is not None

    def reads_totals(self, node: cst.CSTNode) -> bool:
        """Whether an expression depends on what was added before."""
        for part in descendants(node):
            name = self.attribute(part)
            if name and name not in self.last:
                return True
            if isinstance(part, cst.Call) and any(
                isinstance(n, cst.Name) and n.value == self.own for n in descendants(part)
            ):
                return True
        return False

    def obstacle(self, call: cst.CSTNode) -> Obstacle:
        """The complaint."""
        return Obstacle(call, "it calls something that keeps numbers in another way than adding")


def own_name(function: cst.FunctionDef) -> str:
    """What a method calls its object."""
    parameters = (*function.params.posonly_params, *function.params.params)
    return parameters[0].name.value if parameters else ""


def simple_statements(body: cst.CSTNode, call: cst.CSTNode) -> Iterator[cst.BaseSmallStatement]:
    """The statements of a method, those on conditions only where they change its arguments.

    Raises:
        Obstacle: there are others.
    """
    if isinstance(body, cst.SimpleStatementSuite):
        yield from body.body
        return
    for statement in body.body:  # type: ignore[attr-defined]
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        elif isinstance(statement, cst.If) and statement.orelse is None:
            inner = list(simple_statements(statement.body, call))
            for small in inner:
                if not isinstance(small, cst.Assign) or not all(
                    isinstance(target.target, cst.Name) for target in small.targets
                ):
                    raise Obstacle(call, "it calls something that adds on a condition")
            yield from inner
        else:
            raise Obstacle(call, "it calls something that does more than to add")


def is_text(small: cst.CSTNode) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(small, cst.Expr) and isinstance(
        small.value, cst.SimpleString | cst.ConcatenatedString
    )


def zeros(plan: Plan, cls: Class, module: Module) -> frozenset[str]:
    """The attributes that a new object of a class has set to zero."""
    methods = {
        node.name.value: node
        for node in descendants(cls.node.body)
        if isinstance(node, cst.FunctionDef)
    }
    found: set[str] = set()
    pending = ["__init__"]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        function = methods.get(name)
        if function is None or name in seen:
            continue
        seen.add(name)
        own = own_name(function)
        for statement in function.body.body:
            if not isinstance(statement, cst.SimpleStatementLine):
                continue
            for small in statement.body:
                if isinstance(small, cst.Assign) and is_zero(plan, small.value):
                    for target in small.targets:
                        found.update(own_attribute(target.target, own))
                elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
                    pending.extend(own_attribute(small.value.func, own))
    return frozenset(found)


def own_attribute(node: cst.CSTNode, own: str) -> list[str]:
    """The attribute of an object that an expression is, as a list of one or none."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        if node.value.value == own:
            return [node.attr.value]
    return []


def check_last(plan: Plan, reading: Reading, function: cst.FunctionDef, call: cst.CSTNode) -> None:
    """Make sure that nobody looks at what the object was given last.

    Raises:
        Obstacle: somebody might.
    """
    cls = reading.module.source.parent(function)
    while cls is not None and not isinstance(cls, cst.ClassDef):
        cls = reading.module.source.parent(cls)
    for node in descendants(cls) if cls is not None else ():
        if not isinstance(node, cst.FunctionDef) or node is function:
            continue
        for part in descendants(node):
            if isinstance(part, cst.Attribute) and part.attr.value == "__dict__":
                raise Obstacle(call, "it hands numbers to an object that shows all it has")
            if not isinstance(part, cst.Attribute) or part.attr.value not in reading.last:
                continue
            if not isinstance(reading.module.source.parent(part), cst.AssignTarget):
                raise Obstacle(call, "it hands numbers to an object that shows the last of them")
