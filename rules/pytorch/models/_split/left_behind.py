"""What a model that could not be followed may keep of its samples, or hand on, in attributes.

A comparison of the outputs of the first batch does not see it. So where the solver has not shown
what a model does, its own code is read: each attribute that its forward pass sets, and that is read
before it is set or by other code, counts as a way for samples past the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Class, External, Instance, Opaque, Value
from transpile.facts.walk import children
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts
from transpile.records import dataclass
from transpile.rules.pytorch.models._bypasses import METHODS, TENSORS

#: The methods that a call of a model runs.
FORWARD: tuple[str, ...] = ("forward", "__call__")
#: Names by which attributes are reached that no text names.
BY_TEXT = frozenset({"getattr", "vars", "__dict__"})
#: Methods of lists, dicts and sets that put something into them.
PUTS = frozenset({"append", "extend", "add", "insert", "update", "appendleft", "setdefault"})


@dataclass(frozen=True, eq=False)
class LeftBehind:
    """An attribute that a forward pass sets.

    Args:
        word: its name.
        kept: what it held before goes into what it holds then.
        module: where it is set.
        node: the statement that sets it.
    """

    word: str
    kept: bool
    module: Module
    node: cst.CSTNode


def left_behind(facts: Facts, model: Value) -> LeftBehind | None:
    """The first attribute that carries something from one call of a model to elsewhere.

    Args:
        facts: the run.
        model: the model, or the method of it that is called.
    """
    words = FORWARD
    if isinstance(model, BoundMethod):
        words, model = (*FORWARD, model.function.name), model.receiver
    classes: dict[int, Class] = {}
    for part in walk_parts(model):
        if isinstance(part, Instance):
            for cls in part.cls.ancestry():
                if isinstance(cls, Class):
                    classes.setdefault(id(cls), cls)
    own = [(cls, one) for cls in classes.values() for one in methods_from(cls, words)]
    for cls, function in own:
        for word, kept, node in written(function):
            if kept or is_read_beside(facts, word, [one for _, one in own]):
                return LeftBehind(word, kept, cls.module, node)
    return None


def handed_on(plan: Plan, model: Model) -> str:
    """An attribute of a part that cannot be looked into, which a loss is made of; else empty."""
    closed = {
        id(part)
        for part in touched_parts(model.value)
        if isinstance(part, Opaque) and part.kind == "call" and is_closed(part)
    }
    if not closed:
        return ""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    reached = [
        one
        for one in walk_back(losses, lambda value: not isinstance(value, Instance))
        if isinstance(one, Opaque) and one.kind == "attribute" and one.operands
    ]
    # Of a chain such as ``model.head.weight`` the last attribute is what is read.
    inner = {id(origin(base)) for one in reached for base in one.operands[0]}
    for one in reached:
        if id(one) in inner:
            continue
        for words, base in chains(one):
            if id(base) in closed and not METHODS.union(TENSORS).intersection(words):
                return words[-1]
    return ""


def touched_parts(model: Value) -> Iterator[Value]:
    """A model and what its methods can come to, past what it merely holds since it was made."""
    pending, seen = [model], set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if not isinstance(current, Instance):
            yield from walk_parts(current)
            continue
        yield current
        touched = words_of_methods(current.cls)
        for word, values in current.attributes.items():
            if touched is None or word in touched:
                pending.extend(values)


def words_of_methods(cls: Class) -> set[str] | None:
    """The attributes that methods other than ``__init__`` name; None where that cannot be told."""
    found: set[str] = set()
    for base in cls.ancestry():
        if not isinstance(base, Class):
            if not isinstance(base, External) or not base.name.startswith(("torch.", "builtins.")):
                return None
            continue
        for method in base.node.body.body:
            if not isinstance(method, cst.FunctionDef) or method.name.value == "__init__":
                continue
            if any(isinstance(node, cst.Name) and node.value in BY_TEXT for node in walked(method)):
                return None
            found.update(own_attributes(method))
    return found


def chains(value: Opaque) -> Iterator[tuple[tuple[str, ...], Value]]:
    """The attributes of a chain, the last one first, with what it begins at."""
    pending: list[tuple[tuple[str, ...], Value]] = [((), value)]
    for _ in range(20):
        if not pending:
            return
        words, current = pending.pop()
        if isinstance(current, Opaque) and current.kind in ("attribute", "item"):
            more = (*words, current.name) if current.kind == "attribute" else words
            pending.extend((more, origin(one)) for one in current.operands[0])
        else:
            yield words, current


def is_closed(value: Opaque) -> bool:
    """Whether a library other than PyTorch made an object."""
    names = called_names(value)
    return bool(names) and not any(name.startswith(("torch.", "builtins.")) for name in names)


def methods_from(cls: Class, words: tuple[str, ...]) -> list[cst.FunctionDef]:
    """The methods that a call of some of them comes to, as far as names tell."""
    methods = {
        one.name.value: one for one in cls.node.body.body if isinstance(one, cst.FunctionDef)
    }
    pending: list[str] = [word for word in words if word in methods]
    found: dict[str, cst.FunctionDef] = {}
    while pending:
        word = pending.pop()
        if word in found:
            continue
        found[word] = methods[word]
        pending.extend(name for name in own_attributes(methods[word]) if name in methods)
    return list(found.values())


def walked(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in the order of the text."""
    yield node
    for child in children(node):
        yield from walked(child)


def own_attributes(node: cst.CSTNode) -> Iterator[str]:
    """The names of the attributes of ``self`` within a node."""
    for one in walked(node):
        word = own_word(one)
        if word:
            yield word


def own_word(node: cst.CSTNode) -> str:
    """The name of an attribute of ``self``; empty for anything else."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return node.attr.value if node.value.value == "self" else ""
    return ""


def is_in_place(node: cst.CSTNode) -> bool:
    """Whether a method writes over its tensor, by its name."""
    name = node.attr.value if isinstance(node, cst.Attribute) else ""
    return name.endswith("_") and not name.endswith("__")


def set_word(node: cst.CSTNode) -> tuple[str, bool]:
    """The attribute of ``self`` behind a target, and whether only a part of it is set."""
    inside = False
    while not own_word(node):
        if isinstance(node, cst.Call) and is_in_place(node.func):
            node = node.func
        elif not isinstance(node, (cst.Subscript, cst.Attribute)):
            break
        node, inside = node.value, True  # type: ignore[attr-defined]
    return own_word(node), inside


def written(function: cst.FunctionDef) -> Iterator[tuple[str, bool, cst.CSTNode]]:
    """The attributes that a method sets: whether what they held goes into it, and where."""
    read: set[str] = set()
    for node in walked(function.body):
        if isinstance(node, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
            value = node.value
            if value is None or is_plain(value):
                continue
            targets = [one.target for one in node.targets] if isinstance(node, cst.Assign) else []
            for target in targets or [node.target]:  # type: ignore[union-attr]
                for part in parts_of_target(target):
                    word, inside = set_word(part)
                    if word and not (
                        isinstance(value, cst.Name) and restores(function, word, value)
                    ):
                        again = word in read or word in set(own_attributes(value))
                        kept = isinstance(node, cst.AugAssign) or inside or again
                        yield word, kept, node
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            word, _ = set_word(node.func.value)
            name = node.func.attr.value
            in_place = is_in_place(node.func)
            if word and node.args and (name in PUTS or in_place):
                if not all(is_plain(one.value) for one in node.args):
                    yield word, in_place, node
        read.update(own_attributes(node) if is_loaded(node) else ())


def restores(function: cst.FunctionDef, word: str, value: cst.Name) -> bool:
    """Whether a local name holds nothing but what the attribute itself held before."""
    held = [
        node.value
        for node in walked(function.body)
        if isinstance(node, cst.Assign)
        for target in node.targets
        for part in parts_of_target(target.target)
        if isinstance(part, cst.Name) and part.value == value.value
    ]
    return bool(held) and all(own_word(one) == word for one in held)


def is_loaded(node: cst.CSTNode) -> bool:
    """Whether a statement's attributes are read: all but those that an assignment sets."""
    return isinstance(node, (cst.Expr, cst.Return, cst.If, cst.For, cst.While))


def parts_of_target(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """A target, or the parts of one that unpacks."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from parts_of_target(element.value)
    else:
        yield target


def is_plain(value: cst.BaseExpression) -> bool:
    """Whether an expression is made of literals alone."""
    names = (cst.Name, cst.Attribute, cst.Call)
    if isinstance(value, cst.Name):
        return value.value in ("True", "False", "None")
    return not any(isinstance(one, names) for one in walked(value))


def is_read_beside(facts: Facts, word: str, own: list[cst.FunctionDef]) -> bool:
    """Whether an attribute is read by code other than these methods."""
    within = {id(one) for function in own for one in walked(function)}
    for module in facts.modules.values():
        if word not in module.source.text:
            continue
        stored = set()
        for node in walked(module.source.tree):
            if isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Attribute):
                stored.add(id(node.target))
            is_name = isinstance(node, cst.Attribute) and node.attr.value == word
            is_text = isinstance(node, cst.SimpleString) and node.evaluated_value == word
            if (is_name or is_text) and id(node) not in within and id(node) not in stored:
                return True
    return False
