"""How code is rewritten so that numbers are taken over all processes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.changes import Insert
from transpile.edit import Edit
from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque
from transpile.layout import (
    add_argument,
    insert_after,
    replace_argument_value,
    replace_expression,
    wrap_expression,
)
from transpile.layout.calls import LINE_LENGTH
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Change, Helper, In
from transpile.rules.pytorch._quantity import Duty, Kind, Pending, WeightedLoss, analysis
from transpile.rules.pytorch._quantity.vocabulary import GUARDS
from transpile.span import Span

#: Methods that give the same data in another shape, type or place, and do nothing else.
PURE_METHODS = frozenset(
    {
        "view", "reshape", "to", "cuda", "cpu", "long", "float", "squeeze", "unsqueeze", "flatten",
        "contiguous", "transpose", "permute", "t", "detach", "size", "numel", "type", "int",
    }
)  # fmt: skip
#: Losses of classes, which can be rebuilt with all of their settings.
CLASS_LOSSES = frozenset({"torch.nn.functional.cross_entropy", "torch.nn.functional.nll_loss"})
#: Methods and functions that turn a tensor into numbers.
CONVERSIONS = frozenset({"item", "tolist", "numpy"})
#: Methods on the way from a tensor to its number.
ON_THE_WAY = frozenset({"cpu", "detach", "data", "numpy", "clone", "cuda", "to"})


def world_size(plan: Plan, module: Module) -> str:
    """The call that gives the number of processes."""
    return f"{plan.names_in(module).fresh('get_world_size')}()"


def multiplied(
    plan: Plan, module: Module, node: cst.BaseExpression, degree: int, receiver: bool = False
) -> Iterator[Change]:
    """Multiply an expression by the number of processes.

    Args:
        plan: the plan.
        module: where it stands.
        node: the expression.
        degree: to which power.
        receiver: whether a method is called on the result.
    """
    yield Helper("get_world_size", module)
    operator = "*" if degree > 0 else "/"
    power = f" ** {abs(degree)}" if abs(degree) > 1 else ""
    before, after = "", f" {operator} {world_size(plan, module)}{power}"
    if not multiplies_well(node):
        before, after = "(", f"){after}"
    if receiver and not node.lpar:
        before, after = f"({before}", f"{after})"
    elif not receiver and needs_parentheses(module, node):
        before, after = f"({before}", f"{after})"
    yield from surrounded(module, node, before, after)


def multiplies_well(node: cst.BaseExpression) -> bool:
    """Whether ``node * factor`` multiplies all of the node."""
    if isinstance(node, cst.BinaryOperation):
        return not isinstance(
            node.operator,
            (
                cst.Add,
                cst.Subtract,
                cst.BitAnd,
                cst.BitOr,
                cst.BitXor,
                cst.LeftShift,
                cst.RightShift,
            ),
        )
    return not isinstance(
        node,
        (cst.IfExp, cst.Lambda, cst.Comparison, cst.BooleanOperation, cst.NamedExpr, cst.Await),
    ) and not (isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not))


def surrounded(
    module: Module, node: cst.BaseExpression, before: str, after: str
) -> Iterator[Change]:
    """Put text on both sides of an expression."""
    edits: tuple[Edit, ...]
    if before:
        edits = wrap_expression(module.source, node, before, after)
    else:
        span = module.source.span(node)
        edits = (Insert(span.end, after, 0, "close", span),)
    for edit in edits:
        yield In(module, edit)


def reduced(plan: Plan, module: Module, node: cst.BaseExpression, helper: str) -> Iterator[Change]:
    """Give an expression to a helper that reduces it over the processes."""
    yield Helper(helper, module)
    name = plan.names_in(module).fresh(helper)
    span = module.source.span(node)
    text = module.source.text
    if len(node.lpar) == 1 and text[span.start - 1] == "(" and text[span.end] == ")":
        # The parentheses that the expression has already are those of the call.
        whole = Span(span.start - 1, span.end + 1)
        yield In(module, Insert(span.start - 1, name, 0, "open", whole))
        return
    yield from surrounded(module, node, f"{name}(", ")")


# What a tensor is made into a number by.


def tensor_behind(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The tensor that a call turns into numbers; None where it has no place in the text."""
    if not isinstance(node, cst.Call):
        return None
    function = node.func
    if isinstance(function, cst.Attribute) and function.attr.value in CONVERSIONS and not node.args:
        return on_its_device(function.value)
    if isinstance(function, cst.Name) and len(node.args) == 1 and not node.args[0].star:
        return on_its_device(node.args[0].value)
    return None


def on_its_device(node: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor before it is moved and cut off from its graph."""
    while not node.lpar:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if node.func.attr.value in ON_THE_WAY:
                node = node.func.value
                continue
        if isinstance(node, cst.Attribute) and node.attr.value == "data":
            node = node.value
            continue
        break
    return node


# Denominators.


@dataclass(frozen=True, eq=False)
class Denominator:
    """A denominator that differs between the processes, as it is rewritten.

    Args:
        module: where it stands.
        tensor: what is reduced.
        guard: the expression that keeps it from zero by a bound, which counts once for all
            processes; None where there is none.
    """

    module: Module
    tensor: cst.BaseExpression
    guard: cst.BaseExpression | None = None


def denominator(plan: Plan, module: Module, node: cst.BaseExpression) -> Denominator | str:
    """How a denominator is rewritten, or why it cannot be."""
    guard: cst.BaseExpression | None = None
    while True:
        made = guarded_name(plan, module, node)
        if made is not None:
            if used_otherwise(plan, made):
                return "it is kept from zero where it is used for something else, too"
            assert isinstance(made.node, cst.Call)
            module, node = made.module, made.node
        bounded = bounded_part(plan, node)
        if bounded is not None:
            guard = guard or node
        inner = bounded or nonzero_part(plan, node)
        if inner is None:
            break
        node = inner
    values = plan.facts.values_of(node)
    if values and not analysis(plan).of(values).tensor:
        return "the denominator is no tensor that could be reduced"
    return Denominator(module, node, guard)


def guarded_name(plan: Plan, module: Module, node: cst.BaseExpression) -> Opaque | None:
    """What a name stands for, where that is kept from zero by a bound."""
    if not isinstance(node, cst.Name):
        return None
    values = plan.facts.values_of(node)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Opaque) and isinstance(value.node, cst.Call) and value.module is module:
        if bounded_part(plan, value.node) is not None:
            return value
    return None


def used_otherwise(plan: Plan, value: Opaque) -> bool:
    """Whether a name for the value stands elsewhere than in a denominator."""
    source = value.module.source
    for node in source.nodes:
        if not isinstance(node, cst.Name) or value not in plan.facts.values_of(node):
            continue
        parent = source.parent(node)
        if isinstance(parent, cst.BinaryOperation):
            if parent.right is node and isinstance(parent.operator, cst.Divide):
                continue
        if isinstance(parent, cst.AugAssign) and isinstance(parent.operator, cst.DivideAssign):
            if parent.value is node:
                continue
        return True
    return False


def bounded_part(plan: Plan, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is kept from zero by ``clamp`` or ``max``."""
    if not isinstance(node, cst.Call):
        return None
    function = node.func
    if isinstance(function, cst.Attribute) and function.attr.value.rstrip("_") in GUARDS:
        quantity = analysis(plan).of(plan.facts.values_of(function.value))
        if quantity.kind is Kind.PART:
            return function.value
        return node.args[0].value if node.args else None
    if isinstance(function, cst.Name) and function.value == "max" and len(node.args) == 2:
        return other_than_number(plan, [argument.value for argument in node.args])
    return None


def nonzero_part(plan: Plan, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is kept from zero by a small number that is added."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return other_than_number(plan, [node.left, node.right])
    return None


def averaged(plan: Plan, found: Denominator) -> Iterator[Change]:
    """Average a denominator over the processes; a bound holds for all of them together."""
    if found.guard is None:
        yield from reduced(plan, found.module, found.tensor, "reduce_mean")
        return
    yield from reduced(plan, found.module, found.tensor, "reduce_sum")
    yield Helper("get_world_size", found.module)
    before, after = "", f" / {world_size(plan, found.module)}"
    if needs_parentheses(found.module, found.guard):
        before, after = "(", f"{after})"
    yield from surrounded(found.module, found.guard, before, after)


def other_than_number(plan: Plan, nodes: list[cst.BaseExpression]) -> cst.BaseExpression | None:
    """The only expression of several that is no plain number."""
    kept = [
        node
        for node in nodes
        if not all(isinstance(value, Constant) for value in plan.facts.values_of(node))
        or not plan.facts.values_of(node)
    ]
    return kept[0] if len(kept) == 1 and len(nodes) == 2 else None


# Losses that divide by something else than the number of samples.


def is_simple(node: cst.BaseExpression) -> bool:
    """Whether evaluating an expression twice is harmless and cheap."""
    if isinstance(node, (cst.Name, cst.Integer, cst.Float, cst.SimpleString)):
        return True
    if isinstance(node, cst.Attribute):
        return is_simple(node.value)
    if isinstance(node, cst.UnaryOperation):
        return is_simple(node.expression)
    if isinstance(node, cst.Subscript):
        return is_simple(node.value) and all(is_simple_index(part) for part in node.slice)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return (
            node.func.attr.value in PURE_METHODS
            and is_simple(node.func.value)
            and all(not arg.star and is_simple(arg.value) for arg in node.args)
        )
    return False


def is_simple_index(element: cst.SubscriptElement) -> bool:
    """Whether an index is harmless to evaluate twice."""
    part = element.slice
    if isinstance(part, cst.Index):
        return isinstance(part.value, cst.Ellipsis) or is_simple(part.value)
    if not isinstance(part, cst.Slice):
        return False
    return all(bound is None or is_simple(bound) for bound in (part.lower, part.upper, part.step))


def argument(call: cst.Call, name: str, position: int) -> cst.Arg | None:
    """An argument as it is written, by keyword or by position."""
    for given in call.args:
        if given.keyword is not None and given.keyword.value == name:
            return given
    for index, given in enumerate(call.args):
        if given.star or given.keyword is not None:
            return None
        if index == position:
            return given
    return None


def loss_obstacle(plan: Plan, loss: WeightedLoss) -> str:
    """Why the call of a loss cannot be rewritten; empty where it can."""
    call = loss.call
    target = argument(call, "target", 1)
    if target is None or any(given.star for given in call.args):
        return "the arguments of the loss are unpacked from something else"
    if not is_simple(target.value):
        return "its target is computed in the call, and would be computed twice"
    if loss.built is None:
        for name, position in (("weight", 2), ("ignore_index", 4), ("reduction", 6)):
            written = argument(call, name, position)
            if written is not None and not is_simple(written.value):
                return f"its {name} is computed in the call, and would be computed twice"
        for name, position in (("size_average", 3), ("reduce", 5)):
            if argument(call, name, position) is not None:
                return f"it is told how to reduce by '{name}', which is out of use"
        return ""
    if not is_simple(call.func):
        return "the loss is made where it is called"
    if len(plan.facts.values_of(call.func)) != 1:
        return "another loss is called there, too"
    for name in ("size_average", "reduce"):
        if any(
            given.keyword is not None and given.keyword.value == name for given in loss.built.args
        ):
            return f"it is told how to reduce by '{name}', which is out of use"
    return ""


def rewritten_loss(plan: Plan, module: Module, loss: WeightedLoss) -> Iterator[Change]:
    """The sum of a loss over its averaged denominator."""
    source = module.source
    call = loss.call
    target = argument(call, "target", 1)
    assert target is not None
    settings: list[str] = []
    if loss.built is None:
        weight_node = argument(call, "weight", 2)
        ignore_node = argument(call, "ignore_index", 4)
        weight = text_of(module, weight_node.value) if weight_node is not None else ""
        ignore = text_of(module, ignore_node.value) if ignore_node is not None else "-100"
        reduction = argument(call, "reduction", 6)
        if reduction is not None:
            for edit in replace_argument_value(source, call, reduction, '"sum"'):
                yield In(module, edit)
        else:
            settings.append('reduction="sum"')
    else:
        criterion = source.code(call.func)
        weight, ignore = f"{criterion}.weight", f"{criterion}.ignore_index"
        functional = plan.names_in(module).imported("torch.nn.functional", "F")
        word = loss.function.rpartition(".")[2]
        for edit in replace_expression(source, call.func, f"{functional}.{word}"):
            yield In(module, edit)
        if loss.weight:
            settings.append(f"weight={weight}")
        if loss.ignore_index:
            settings.append(f"ignore_index={ignore}")
        if smooths(loss.built):
            settings.append(f"label_smoothing={criterion}.label_smoothing")
        settings.append('reduction="sum"')
    for position, setting in enumerate(settings):
        for edit in add_argument(source, call, setting, position):
            yield In(module, edit)
    of = text_of(module, target.value)
    helper = "reduce_mean"
    if loss.weight and loss.ignore_index:
        counted = f"{weight}[{of}[{of} != {ignore}]].sum()"
    elif loss.weight:
        counted = f"{weight}[{of}].sum()"
    elif loss.ignore_index:
        counted = f"({of} != {ignore}).sum()"
    else:
        helper, counted = "mean_size", of
    yield Helper(helper, module)
    average = f"{plan.names_in(module).fresh(helper)}({counted})"
    grown = sum(len(setting) + 2 for setting in settings) + len(f" / {average}")
    name = assigned_name(module, call)
    if name and end_of_line(module, call) + grown > LINE_LENGTH:
        statement = statement_of(module, call)
        for edit in insert_after(source, statement, [f"{name} = {name} / {average}"]):
            yield In(module, edit)
        return
    before, after = "", f" / {average}"
    if needs_parentheses(module, call):
        before, after = "(", f"{after})"
    yield from surrounded(module, call, before, after)


def assigned_name(module: Module, node: cst.BaseExpression) -> str:
    """The only name that a statement binds to the expression; empty where it does another thing."""
    statement = module.source.parent(node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0].target
    return target.value if isinstance(target, cst.Name) else ""


def statement_of(module: Module, node: cst.CSTNode) -> cst.BaseSmallStatement:
    """The small statement that an expression belongs to."""
    for around in module.source.parents(node):
        if isinstance(around, cst.BaseSmallStatement):
            return around
    raise ValueError("the expression is not part of a small statement")


def end_of_line(module: Module, node: cst.CSTNode) -> int:
    """The column behind an expression."""
    end = module.source.span(node).end
    return end - module.source.line_start(end)


def text_of(module: Module, node: cst.BaseExpression) -> str:
    """The text of an expression, so that it can stand as an operand."""
    text = module.source.code(node)
    if node.lpar or isinstance(
        node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.Integer, cst.UnaryOperation)
    ):
        return text
    return f"({text})"


def smooths(built: cst.Call) -> bool:
    """Whether a loss is made with label smoothing."""
    return (
        any(
            given.keyword is not None and given.keyword.value == "label_smoothing"
            for given in built.args
        )
        or len(built.args) > 5
    )


def needs_parentheses(module: Module, node: cst.BaseExpression) -> bool:
    """Whether a quotient in the place of `node` must stand in parentheses."""
    if node.lpar:
        return False
    parent = module.source.parent(node)
    if isinstance(parent, (cst.Attribute, cst.Subscript, cst.Await)):
        return True
    if isinstance(parent, cst.Call):
        return parent.func is node
    if isinstance(parent, cst.BinaryOperation):
        if isinstance(parent.operator, cst.Power):
            return True
        return parent.right is node and isinstance(
            parent.operator, (cst.Divide, cst.FloorDivide, cst.Modulo, cst.MatrixMultiply)
        )
    return isinstance(parent, cst.UnaryOperation) and not isinstance(parent.operator, cst.Not)


# Everything that is pending.


def obstacle(plan: Plan, pending: Pending) -> str:
    """Why a place cannot be rewritten; empty where it can."""
    if pending.duty is Duty.LOSS:
        assert pending.loss is not None
        return loss_obstacle(plan, pending.loss)
    if pending.duty is Duty.NUMBER:
        return "" if tensor_behind(pending.node) is not None else "the tensor has no name there"
    if not isinstance(pending.node, cst.BaseExpression):
        return "the denominator has no place in the text"
    found = denominator(plan, pending.module, pending.node)
    return found if isinstance(found, str) else ""


def settled(plan: Plan, pending: Pending) -> Iterator[Change]:
    """Rewrite a place that has no obstacle."""
    if pending.duty is Duty.LOSS:
        assert pending.loss is not None
        yield from rewritten_loss(plan, pending.module, pending.loss)
    elif pending.duty is Duty.NUMBER:
        tensor = tensor_behind(pending.node)
        assert tensor is not None
        yield from reduced(plan, pending.module, tensor, "reduce_mean")
    else:
        assert isinstance(pending.node, cst.BaseExpression)
        found = denominator(plan, pending.module, pending.node)
        assert isinstance(found, Denominator)
        yield from averaged(plan, found)
