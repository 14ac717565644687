"""What texts, containers and objects are made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from string import Formatter

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp)
#: Functions whose result is text or a container of what they are given.
PASSING = frozenset(
    {
        "builtins.str", "builtins.repr", "builtins.format", "builtins.round", "json.dumps",
        "pprint.pformat", "numpy.array", "numpy.asarray", "torch.tensor", "torch.stack",
        "copy.deepcopy", "copy.copy", "vars", "wandb.Image", "wandb.Histogram", "wandb.Table",
        "pandas.DataFrame", "pandas.Series", "pandas.concat", "PIL.Image.fromarray",
        "tabulate.tabulate", "torchvision.transforms.functional.to_pil_image",
        "torchvision.transforms.ToPILImage", "tensorflow.Summary",
        "tensorflow.Summary.Value", "tensorflow.compat.v1.Summary",
        "tensorflow.compat.v1.Summary.Value",
    }
)  # fmt: skip
#: Objects that are shown with all that was set on them.
NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace"})
TEXT_METHODS = frozenset({"format", "join", "ljust", "rjust", "center", "encode"})
#: How deep texts and containers are analysed.
DEEPEST = 12

#: A part of something: what it may be, its expression and where that stands.
Inside = tuple[Values, "cst.BaseExpression | None", Module]


def inside(
    value: Value, module: Module, is_whole: Callable[[Instance], bool]
) -> list[Inside] | None:
    """What a text, container or object is made of; None for numbers and tensors.

    Args:
        value: the text, container or object.
        module: where it is shown.
        is_whole: whether an object is not to be looked into.
    """
    if isinstance(value, Sequence):
        nodes = displayed(value.node, len(value.elements))
        pairs = [
            (part, expression, module)
            for part, expression in zip(value.elements, nodes, strict=True)
        ]
        if value.rest:
            element = value.node.elt if isinstance(value.node, COMPREHENSIONS) else None
            pairs.append((value.rest, element, module))
        return pairs
    if isinstance(value, Mapping):
        found = [
            (
                entry.values,
                entry.node if isinstance(entry.node, cst.BaseExpression) else None,
                entry.module or module,
            )
            for entry in value.entries.values()
        ]
        return [*found, (value.rest, None, module)] if value.rest else found
    if isinstance(value, Generator):
        return [(value.yields, None, module)]
    if isinstance(value, Instance):
        if is_whole(value):
            return []
        return [(part, None, module) for part in value.attributes.values()]
    if isinstance(value, Opaque):
        return inside_text(value)
    return None


def inside_text(value: Opaque) -> list[Inside] | None:
    """What a text is made of."""
    where = value.module
    if value.kind == "operation" and value.name == "format":
        nodes = formatted(value.node)
        if len(nodes) != len(value.operands):
            nodes = [None] * len(value.operands)
        return [(part, n, where) for part, n in zip(value.operands, nodes, strict=True)]
    if value.kind == "operation" and value.name in ("Add", "Modulo", "concatenate"):
        if not any(is_text(operand) for operand in value.operands):
            return None
        sides: list[cst.BaseExpression | None] = [None, None]
        if isinstance(value.node, cst.BinaryOperation):
            sides = [value.node.left, value.node.right]
        elif isinstance(value.node, cst.AugAssign):
            sides = [None, value.node.value]
        return [(part, n, where) for part, n in zip(value.operands, sides, strict=False)]
    if value.kind != "call":
        return None
    if any(name in NAMESPACES for name in called_names(value)):
        given = [item.values for item in value.arguments.items]
        return [(part, None, where) for part in (*given, *value.attributes.values())]
    passes = any(name in PASSING for name in called_names(value)) or any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name in TEXT_METHODS
        and is_text(callee.operands[0])
        for callee in value.callee
    )
    if not passes:
        return None
    shown = shown_attributes(value)
    found: list[Inside] = []
    for position, item in enumerate(value.arguments.items):
        names = shown.get(item.keyword or str(position))
        objects = [one for one in item.values if isinstance(one, Instance)]
        if names and len(objects) == len(item.values):
            found.extend(
                (one.attributes.get(name, ()), None, where) for one in objects for name in names
            )
            continue
        node = item.node if isinstance(item.node, cst.BaseExpression) else None
        found.append((item.values, node, where))
    return found


def displayed(node: cst.CSTNode, count: int) -> list[cst.BaseExpression | None]:
    """The expressions of a list, tuple or set display, where there are as many as elements."""
    if isinstance(node, (cst.List, cst.Tuple, cst.Set)) and len(node.elements) == count:
        return [
            element.value if isinstance(element, cst.Element) else None for element in node.elements
        ]
    return [None] * count


def formatted(node: cst.CSTNode) -> list[cst.BaseExpression | None]:
    """The expressions of an f-string, those of its formats included."""
    found: list[cst.BaseExpression | None] = []
    for part in node.parts if isinstance(node, cst.FormattedString) else ():
        if isinstance(part, cst.FormattedStringExpression):
            found.append(part.expression)
            for inner in part.format_spec or ():
                if isinstance(inner, cst.FormattedStringExpression):
                    found.append(inner.expression)
    return found


def shown_attributes(value: Opaque) -> dict[str, list[str]]:
    """The attributes that a format string shows, by the argument that they belong to."""
    found: dict[str, list[str]] = {}
    for name, receivers in method_calls(value):
        for receiver in receivers if name == "format" else ():
            if not (isinstance(receiver, Constant) and isinstance(receiver.value, str)):
                return {}
            automatic = 0
            for field_name in format_fields(receiver.value):
                first, *rest = re.split(r"[.\[]", field_name)
                if not first:
                    first, automatic = str(automatic), automatic + 1
                found.setdefault(first, []).append(rest[0].rstrip("]") if rest else "")
    return {first: names for first, names in found.items() if all(names)}


def format_fields(text: str) -> list[str]:
    """The names in the fields of a format string; none where it is no valid one."""
    try:
        return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        return []


def is_text(values: Values) -> bool:
    """Whether some of the values are text, as far as can be seen."""
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Constant):
            if isinstance(value.value, str):
                return True
        elif isinstance(value, Opaque) and value.kind == "operation":
            if value.name in ("format", "concatenate"):
                return True
            if value.name in ("Add", "Modulo"):
                stack.extend(value.operands[0])
        elif isinstance(value, Opaque) and value.kind == "call":
            if any(name in ("builtins.str", "builtins.repr") for name in called_names(value)):
                return True
            for name, receivers in method_calls(value):
                if name in TEXT_METHODS:
                    stack.extend(receivers)
    return False
