"""Which values of sets and listings are in an order of their own on each process."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Loop
from transpile.facts.module import Module
from transpile.facts.values import Class, Constant, Opaque, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rules.pytorch.agreement._together import steps_of
from transpile.rules.pytorch.data._data import names_called

#: What does not care for an order.
CARELESS = frozenset(
    f"builtins.{word}"
    for word in ("sorted", "len", "set", "frozenset", "sum", "max", "min", "any", "all", "dict")
)


STRING_METHODS = frozenset(
    {
        "join", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "read", "readline",
        "decode", "title", "capitalize", "casefold", "zfill", "read_text", "strftime", "group",
    }
)  # fmt: skip


STRING_FUNCTIONS = frozenset(
    {"builtins.str", "builtins.chr", "builtins.input", "os.path.basename", "os.path.join"}
)


#: Methods that give lists of strings.
TEXT_METHODS = frozenset({"split", "rsplit", "splitlines", "readlines", "findall", "tokenize"})


#: Listings that are lists, and so can be sent to other processes.
LISTS = frozenset({"os.listdir", "glob.glob"})


def all_strings(values: Values) -> bool:
    """Whether values are certainly strings, which can be sorted."""
    return bool(values) and all(is_string(value) for value in values)


def is_string(value: Value, depth: int = 0) -> bool:
    """Whether a value is certainly a string."""
    if isinstance(value, Constant):
        return isinstance(value.value, str)
    if not isinstance(value, Opaque) or depth > 8:
        return False
    if value.kind in ("element", "item"):
        return any(is_text(source, depth + 1) for source in value.operands[0])
    if value.kind == "operation":
        return value.name in ("format", "concatenate") or (
            value.name in ("Add", "Modulo")
            and any(is_string(v, depth + 1) for v in value.operands[0])
        )
    if any(name in STRING_FUNCTIONS for name in called_names(value)):
        return True
    return any(name in STRING_METHODS for name, _ in method_calls(value))


def is_text(value: Value, depth: int) -> bool:
    """Whether the elements of a value are strings."""
    if is_string(value, depth):
        return True
    if isinstance(value, Sequence):
        return all_strings(value.every())
    if any(name in LISTS or name in ("builtins.open",) for name in called_names(value)):
        return True
    return any(name in TEXT_METHODS for name, _ in method_calls(value))


def all_numbers(values: Values) -> bool:
    """Whether values are certainly numbers, whose hashes are the same everywhere."""
    return bool(values) and all(is_number(value) for value in values)


def is_number(value: Value) -> bool:
    """Whether a value is certainly a number."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float))
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element":
        return any(
            "builtins.range" in called_names(source) or from_tensor(source)
            for source in value.operands[0]
        )
    if value.kind == "operation":
        return value.name in ("len", "index")
    return any(
        name in ("builtins.int", "builtins.float", "builtins.hash", "builtins.id")
        for name in called_names(value)
    ) or from_tensor(value)


#: NumPy's functions that make an array of whatever they are given, or read it from a file.
OF_ANYTHING = frozenset(
    f"numpy.{word}"
    for word in (
        "array", "asarray", "asanyarray", "genfromtxt", "loadtxt", "load", "fromstring", "unique",
        "concatenate", "stack", "char", "recfromcsv", "append", "repeat", "tile", "where",
    )
)  # fmt: skip


def from_tensor(value: Value) -> bool:
    """Whether a value holds the numbers of a tensor, or of an array that can hold only numbers."""
    converted = any(name in ("tolist", "item", "numpy") for name, _ in method_calls(value))
    made = any(name.startswith(("numpy.", "torch.")) for name in called_names(value))
    return (converted or made) and not may_hold_words(value)


def may_hold_words(value: Value) -> bool:
    """Whether a value is made of an array or a table that words may stand in, by no tensor."""

    def enters(one: Value) -> bool:
        return (
            isinstance(one, Opaque)
            and one.kind != "element"
            and not any(name.startswith("torch.") for name in called_names(one))
        )

    return any(
        name in OF_ANYTHING or name.startswith(("numpy.char.", "pandas."))
        for one in walk_back((value,), enters)
        for name in called_names(one)
    )


def ignored(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether what an expression is given to does not care for its order."""
    outer = module.source.parent(node)
    if isinstance(outer, cst.Arg):
        call = module.source.parent(outer)
        if isinstance(call, cst.Call):
            return bool(names_called(plan, call) & CARELESS)
    if isinstance(outer, cst.ComparisonTarget):
        return isinstance(outer.operator, (cst.In, cst.NotIn))
    return isinstance(outer, cst.Comparison) or (
        isinstance(outer, cst.CompFor)
        and isinstance(module.source.parent(outer), (cst.SetComp, cst.DictComp))
    )


def sorted_later(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether the list is sorted in place wherever it goes, or only looked at without order."""
    statement = module.source.parent(node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return False
    text = module.source.code(target)
    scope = function_of(module, node) or module.source.tree
    for other in descendants(scope):
        if isinstance(other, cst.Attribute) and other.attr.value == "sort":
            if module.source.code(other.value) == text:
                return True
    if not isinstance(target, cst.Name):
        return False
    uses = [
        other
        for other in descendants(scope)
        if isinstance(other, cst.Name) and other.value == text and other is not target
    ]
    return bool(uses) and all(ignored(plan, module, use) for use in uses)


def makes_layers(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether layers are made in some code, which draw their weights and are counted by place."""
    for inner in descendants(node):
        if not isinstance(inner, cst.Call):
            continue
        if any(name.startswith("torch.nn.") for name in names_called(plan, inner)):
            return True
        for value in plan.facts.values_of(inner.func):
            if isinstance(value, Class) and not plan.table.module_bases.isdisjoint(
                value.external_bases()
            ):
                return True
    return False


def order_matters(plan: Plan, module: Module, node: cst.For | cst.CompFor) -> bool:
    """Whether a loop over a set makes something that depends on the order."""
    if isinstance(node, cst.CompFor):
        made = module.source.parent(node)
        if isinstance(made, (cst.SetComp, cst.DictComp)):
            return isinstance(made, cst.DictComp) and makes_layers(plan, made)
        return made is not None and not ignored(plan, module, made)
    if any(
        isinstance(frame, Loop) and frame.node is node
        for step in steps_of(plan)
        for frame in step.event.stack
    ):
        return True
    if makes_layers(plan, node.body):
        return True
    for inner in descendants(node.body):
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute):
            if inner.func.attr.value in ("append", "extend", "insert"):
                return True
        if isinstance(inner, cst.Call) and "builtins.len" in names_called(plan, inner):
            if any(isinstance(outer, cst.Assign) for outer in ancestors(module, inner)):
                return True
        if isinstance(inner, cst.AugAssign) and isinstance(inner.value, cst.Integer):
            return True
    return False
