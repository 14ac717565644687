"""What a loop adds to, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, External, Function, Instance
from transpile.facts.walk import descendants
from transpile.plan.flow.places import function_of
from transpile.plan.graph import is_instance_of
from transpile.plan.model import Plan
from transpile.records import dataclass, field

from .meters import meter, own_name
from .model import Meter, Obstacle, Total, Way
from .names import bound_names, carried, is_label, local_names
from .starts import Start, check_unshared, class_of, first_value, not_seen, start_of
from .words import EvaluationWords

#: Methods that add to a list, and to a tensor in place.
LISTS = frozenset({"append", "extend"})
IN_PLACE = frozenset({"add_", "sub_"})


@dataclass(frozen=True, eq=False)
class Update:
    """A statement that adds to something.

    Args:
        target: what it adds to.
        kind: ``add``, ``item``, ``list``, ``join`` or ``meter``.
        names: the nodes that stand for the target in it.
        call: the call that adds, where it is one.
        way: how a join puts things together.
    """

    target: cst.BaseExpression
    kind: str
    names: tuple[cst.CSTNode, ...]
    call: cst.Call | None = None
    way: Way | None = None


@dataclass(eq=False)
class Totals:
    """What a loop adds to.

    Args:
        plan: the plan.
        module: where the loop stands.
        loop: the loop.
        words: what the framework's functions mean.
        updates: the statements that add, by the text of what they add to.
        totals, meters: how it is put together.
    """

    plan: Plan
    module: Module
    loop: cst.For
    words: EvaluationWords
    updates: dict[str, list[Update]] = field(default_factory=dict)
    totals: list[Total] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=list)

    def collect(self) -> None:
        """Find all of it.

        Raises:
            Obstacle: something is added to in a way that cannot be put together.
        """
        own = bound_names(self.loop)
        inside = carried(self.loop, own)
        for small in smalls(self.loop.body):
            update = self.update(small)
            if update is None:
                continue
            if isinstance(update.target, cst.Name):
                name = update.target.value
                is_total = name in inside if name in own else update.kind != "add"
            else:
                is_total = root(update.target) not in own
            if is_total:
                text = self.module.source.code(update.target)
                self.updates.setdefault(text, []).append(update)
        for text, updates in self.updates.items():
            self.check_reads(text, updates)
            if updates[0].kind == "meter":
                self.meters.append(self.meter(text, updates))
            else:
                self.totals.append(Total(text, self.way(text, updates)))

    @property
    def names(self) -> frozenset[str]:
        """The names that are added to."""
        return frozenset(text for text in self.updates if text.isidentifier())

    @property
    def nodes(self) -> frozenset[int]:
        """The nodes inside which the loop adds."""
        return frozenset(
            id(node)
            for updates in self.updates.values()
            for update in updates
            for node in ((update.call,) if update.call is not None else update.names)
        )

    # Statements.

    def update(self, small: cst.BaseSmallStatement) -> Update | None:
        """What a statement adds to; None for one that does something else."""
        if isinstance(small, cst.AugAssign):
            if not isinstance(small.operator, cst.AddAssign | cst.SubtractAssign):
                return None
            return self.addition(small.target, (small.target,), small.operator)
        if isinstance(small, cst.Assign) and len(small.targets) == 1:
            return self.assignment(small.targets[0].target, small.value)
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            return self.method(small.value)
        return None

    def addition(
        self, target: cst.CSTNode, names: tuple[cst.CSTNode, ...], operator: cst.CSTNode
    ) -> Update | None:
        """``target += ...``."""
        if isinstance(target, cst.Name) or (isinstance(target, cst.Attribute) and plain(target)):
            subtracts = isinstance(operator, cst.SubtractAssign | cst.Subtract)
            return Update(target, "subtract" if subtracts else "add", names)
        if isinstance(target, cst.Subscript) and plain(target.value):
            inner = tuple(name.value for name in names if isinstance(name, cst.Subscript))
            return Update(target.value, "item", inner)
        return None

    def assignment(self, target: cst.CSTNode, value: cst.BaseExpression) -> Update | None:
        """``target = target + ...`` and ``target = torch.cat((target, ...))``."""
        if not isinstance(target, cst.Name | cst.Attribute | cst.Subscript):
            return None
        code = self.module.source.code
        text = code(target)
        if isinstance(value, cst.BinaryOperation):
            if isinstance(value.operator, cst.Add | cst.Subtract) and code(value.left) == text:
                return self.addition(target, (target, value.left), value.operator)
            if isinstance(value.operator, cst.Add) and code(value.right) == text:
                return self.addition(target, (target, value.right), value.operator)
        if isinstance(value, cst.Call) and value.args and not isinstance(target, cst.Subscript):
            names = [
                v.name for v in self.plan.facts.values_of(value.func) if isinstance(v, External)
            ]
            way = self.words.joins.get(names[0]) if len(names) == 1 else None
            first = value.args[0].value
            if way is not None and names[0] == "numpy.append" and len(value.args) == 2:
                if code(first) == text:
                    return Update(target, "join", (target, first), None, way)
            elif way is not None and isinstance(first, cst.Tuple | cst.List) and first.elements:
                held = first.elements[0].value
                if code(held) == text and all(is_first_axis(arg) for arg in value.args[1:]):
                    return Update(target, "join", (target, held), None, way)
        return None

    def method(self, call: cst.Call) -> Update | None:
        """``target.append(...)``, and other methods called for their effect."""
        function = call.func
        if not isinstance(function, cst.Attribute) or not plain(function.value):
            return None
        word, target = function.attr.value, function.value
        if isinstance(target, cst.Name) and target.value == self.own_object():
            return None
        receivers = [
            value for value in self.plan.facts.values_of(function) if isinstance(value, BoundMethod)
        ]
        if receivers:
            if all(
                isinstance(value.receiver, Instance)
                and not is_instance_of(value.receiver, self.plan.table.module_bases)
                for value in receivers
            ):
                return Update(target, "meter", (target,), call)
            return None
        if word in LISTS:
            return Update(target, "list", (target,), call)
        if word in IN_PLACE:
            return Update(target, "subtract" if word == "sub_" else "add", (target,), call)
        if word == "update" and len(call.args) == 1:
            return Update(target, "counter", (target,), call)
        return None

    def own_object(self) -> str:
        """What the method around the loop calls its object; empty outside of methods."""
        function = function_of(self.module, self.loop)
        known = self.plan.facts.functions.get(id(function))
        if function is None or known is None or known.owner is None:
            return ""
        return own_name(function)

    # What they add up to.

    def check_reads(self, text: str, updates: list[Update]) -> None:
        """Make sure that what is added to is not looked at within the loop.

        Raises:
            Obstacle: it is.
        """
        known = {id(node) for update in updates for node in update.names}
        kind = type(updates[0].target)
        for node in descendants(self.loop):
            if isinstance(node, kind) and id(node) not in known:
                if self.module.source.code(node) == text and not self.is_label(node):
                    raise Obstacle(node, f"'{text}' is looked at while it is still added to")

    def check_functions(self, functions: Iterable[cst.CSTNode]) -> None:
        """Make sure that functions which the loop enters do not look at what is added to.

        Args:
            functions: those that do more than to add.

        Raises:
            Obstacle: one of them may.
        """
        for function in functions:
            hidden = local_names(function)
            for node in descendants(function):
                for text, updates in self.updates.items():
                    target = updates[0].target
                    if isinstance(node, cst.Name) and isinstance(target, cst.Name):
                        seen = node.value == text and text not in hidden
                    else:
                        seen = (
                            isinstance(node, cst.Attribute)
                            and isinstance(target, cst.Attribute)
                            and node.attr.value == target.attr.value
                        )
                    if seen:
                        reason = f"'{text}' may be looked at while it is still added to"
                        raise Obstacle(self.loop, reason)

    def is_label(self, node: cst.CSTNode) -> bool:
        """Whether a name is an attribute's or a keyword's."""
        return isinstance(node, cst.Name) and is_label(self.module, node)

    def way(self, text: str, updates: list[Update]) -> Way:
        """How the totals of the processes become one.

        Raises:
            Obstacle: it cannot be told.
        """
        target = updates[0].target
        value, since = first_value(self.module, self.loop, target)
        start = start_of(self.plan, self.module, value, self.words)
        if start is None:
            raise not_seen(self.loop, text)
        kinds = {update.kind for update in updates}
        way: Way | None = None
        if start is Start.NUMBER and kinds <= {"add", "subtract"}:
            way = Way.SUM
        elif start is Start.TENSOR and kinds <= {"add", "subtract", "item"}:
            way = Way.SUM
        elif start is Start.COUNTS:
            if kinds <= {"item"} or (kinds <= {"item", "counter"} and self.is_counter(value)):
                way = Way.COUNTS
        elif start is Start.LIST and kinds <= {"list", "add"}:
            way = Way.LIST
        elif kinds == {"join"}:
            ways = {update.way for update in updates}
            if start is Start.EMPTY_TENSOR and ways == {Way.TENSOR}:
                way = Way.TENSOR
            elif start is Start.EMPTY_ARRAY and ways == {Way.ARRAY}:
                way = Way.ARRAY
        if way is None:
            node = updates[0].names[0]
            raise Obstacle(node, f"it is not clear how '{text}' of all processes would be one")
        if start is not Start.NUMBER:
            check_unshared(self.module, value, since, target)
        return way

    def is_counter(self, value: cst.BaseExpression) -> bool:
        """Whether an expression makes a Counter."""
        return isinstance(value, cst.Call) and self.plan.facts.values_of(value.func) == (
            External("collections.Counter"),
        )

    def meter(self, text: str, updates: list[Update]) -> Meter:
        """How an object that adds is put together.

        Raises:
            Obstacle: it cannot be told.
        """
        update = updates[0]
        assert update.call is not None
        value, since = first_value(self.module, self.loop, update.target)
        cls = class_of(self.plan, value)
        functions = {
            id(method.function): method.function
            for each in updates
            if each.call is not None
            for method in self.plan.facts.values_of(each.call.func)
            if isinstance(method, BoundMethod)
        }
        if cls is None or len(functions) != 1:
            raise Obstacle(update.call, f"it is not clear what '{text}' does with its numbers")
        (function,) = functions.values()
        assert isinstance(function, Function)
        found = meter(self.plan, text, cls, function, update.call)
        for statement in since:
            for node in descendants(statement):
                if isinstance(node, cst.Call) and self.adds_to(node, text):
                    raise Obstacle(node, f"'{text}' is used before the loop, too")
        self.check_last(found, update)
        return found

    def adds_to(self, node: cst.Call, text: str) -> bool:
        """Whether a call is one of a method of the object."""
        return isinstance(node.func, cst.Attribute) and (
            self.module.source.code(node.func.value) == text
        )

    def check_last(self, found: Meter, update: Update) -> None:
        """Make sure that nobody reads what an object was given last.

        Raises:
            Obstacle: somebody might.
        """
        objects = {id(value) for value in self.plan.facts.values_of(update.target)}
        for module in self.plan.facts.modules.values():
            for node in module.source.nodes_of(cst.Attribute):
                if node.attr.value in found.last:
                    values = self.plan.facts.values_of(node.value)
                    own = any(id(value) in objects for value in values)
                    if own and not self.in_class(module, node):
                        raise Obstacle(node, f"'{found.text}' is asked for what it was given last")

    def in_class(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is in the body of a class, where an object speaks of itself."""
        return isinstance(node, cst.Attribute) and any(
            isinstance(outer, cst.ClassDef) for outer in module.source.parents(node)
        )


def smalls(body: cst.CSTNode) -> Iterator[cst.BaseSmallStatement]:
    """The small statements of a block and of the blocks in it, functions left out."""
    for node in statements(body):
        if isinstance(node, cst.BaseSmallStatement):
            yield node


def statements(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Everything in a block, functions and classes left out."""
    stack: list[cst.CSTNode] = [body]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            stack.extend(reversed(node.body))
        elif isinstance(node, cst.IndentedBlock):
            stack.extend(reversed(node.body))
        elif not isinstance(node, cst.FunctionDef | cst.ClassDef):
            stack.extend(
                part
                for name in ("finalbody", "cases", "orelse", "handlers", "body")
                for part in as_list(getattr(node, name, None))
            )


def as_list(part: object) -> list[cst.CSTNode]:
    """A node, several or none as a list."""
    parts = part if isinstance(part, tuple | list) else [part]
    return [one for one in parts if isinstance(one, cst.CSTNode)]


def plain(node: cst.CSTNode) -> bool:
    """Whether an expression is a name or an attribute of one."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)


def root(node: cst.CSTNode) -> str:
    """The name that an expression begins with."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def is_first_axis(arg: cst.Arg) -> bool:
    """Whether an argument says that things are put behind each other along the first axis."""
    named = arg.keyword is None or arg.keyword.value in ("dim", "axis")
    return named and isinstance(arg.value, cst.Integer) and arg.value.evaluated_value == 0
