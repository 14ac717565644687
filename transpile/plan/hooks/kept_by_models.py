"""What the forward passes of models keep, from one call to the next, of the samples they are given.

A pass within ``Sequential`` is followed nowhere. So the code of the classes that a model is built
of is read: what is made of the arguments of the pass and goes into an attribute that is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, Instance, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.graph import is_instance_of, method_calls, walk_back
from transpile.plan.hooks.methods_of_models import fed_in_training
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts
from transpile.records import dataclass

FORWARD = ("forward", "__call__", "hybrid_forward", "call")
#: Methods of what an attribute holds that put something into it.
PUTS = frozenset(
    {"append", "extend", "add", "update", "insert", "appendleft", "set_data", "set_value"}
)
#: What tells of an array how it is made, and nothing of its samples.
MAKE = frozenset({"shape", "ndim", "dtype", "context", "ctx", "place", "device", "stype"})
LIKE = "_like"
#: What functions call the array that they write what they give into.
OUT = frozenset({"out", "output"})
NONE: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class KeptByModel:
    """A statement of a forward pass that keeps something of the samples.

    Args:
        word: the attribute.
        owner: the class.
        module: where it stands.
        node: the statement.
    """

    word: str
    owner: str
    module: Module
    node: cst.CSTNode


def kept_by_models(plan: Plan) -> Iterator[KeptByModel]:
    """What the passes of trained models, and of layers behind losses, keep for their next calls."""
    seen: set[int] = set()
    for whole in (*(model.value for model in plan.trained_models), *layers_of_losses(plan)):
        for cls in classes_within(plan, whole):
            if id(cls.node) not in seen:
                seen.add(id(cls.node))
                yield from kept_by(cls, fed_in_training(plan))


def layers_of_losses(plan: Plan) -> Iterator[Instance]:
    """The layers of the project that a loss goes through, such as one with a memory of its own."""
    bases = plan.table.module_bases
    for value in walk_back(tuple(one for each in plan.backwards for one in each.loss)):
        for callee in value.callee if isinstance(value, Opaque) else ():
            if isinstance(callee, Instance) and is_instance_of(callee, bases):
                yield callee


def classes_of(plan: Plan, model: Model) -> Iterator[Class]:
    """The project's classes that a model, and what is added to its parts, are of."""
    return classes_within(plan, model.value)


def classes_within(plan: Plan, whole: Value) -> Iterator[Class]:
    """The project's classes that a layer, and what is added to its parts, are of."""
    pending, seen = [whole], set()
    while pending:
        for part in walk_parts(pending.pop()):
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, Instance):
                yield from (one for one in part.cls.ancestry() if isinstance(one, Class))
            elif isinstance(part, Opaque):
                pending.extend(added_to(plan, part))


def added_to(plan: Plan, holder: Opaque) -> Iterator[Instance]:
    """The layers of the project that ``add`` and the like put into a layer of the framework."""
    for event in plan.facts.calls:
        for result in event.result:
            for name, receivers in method_calls(result):
                if name in PUTS or name == "add_sublayer":
                    if any(one is holder for one in receivers):
                        for item in event.arguments.items:
                            yield from (v for v in item.values if isinstance(v, Instance))


def kept_by(cls: Class, fed: set[int]) -> Iterator[KeptByModel]:
    """What one class keeps of the samples that its passes, and other methods, are given.

    Args:
        cls: the class.
        fed: the methods that a training loop gives samples itself, by the identity of their node.
    """
    methods = {
        one.name.value: one for one in cls.node.body.body if isinstance(one, cst.FunctionDef)
    }
    passes = [one for name, one in methods.items() if name in FORWARD or id(one) in fed]
    pending, reached = list(passes), {id(one): one for one in passes}
    while pending:
        for word in words_of(descendants(pending.pop())):
            one = methods.get(word)
            if one is not None and word != "__init__" and id(one) not in reached:
                reached[id(one)] = one
                pending.append(one)
    for function in reached.values():
        made = made_of_samples(function)
        for node in descendants(function.body):
            for word in kept_at(function, node, made):
                yield KeptByModel(word, cls.name, cls.module, node)


def made_of_samples(function: cst.FunctionDef) -> set[str]:
    """The local names that what a method is given goes into."""
    params = function.params
    given = [*params.posonly_params, *params.params, *params.kwonly_params]
    made = {one.name.value for one in given} - {"self", "F"}
    if isinstance(params.star_arg, cst.Param):
        made.add(params.star_arg.name.value)
    before = -1
    while before < len(made):
        before = len(made)
        for node in descendants(function.body):
            value = getattr(node, "value", None)
            if isinstance(node, (cst.Assign, cst.AnnAssign, cst.AugAssign)) and value is not None:
                if is_made(value, made):
                    names = (part for one in targets(node) for part in parts(one))
                    made.update(part.value for part in names if isinstance(part, cst.Name))
    return made


def kept_at(function: cst.FunctionDef, node: cst.CSTNode, made: set[str]) -> Iterator[str]:
    """The attributes in which a node keeps something of samples for the next call."""
    names = aliases(function)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        word, _ = own(node.func.value, names)
        if not word:
            yield from written_by(node, made, names)
        name = node.func.attr.value
        puts = name in PUTS or (name.endswith("_") and not name.endswith("__"))
        if word and puts and not set_anew(function, word):
            if any(is_made(one.value, made) for one in node.args):
                yield word
        return
    value = getattr(node, "value", None)
    if not isinstance(node, (cst.Assign, cst.AnnAssign, cst.AugAssign)) or value is None:
        return
    if not is_made(value, made):
        return
    for target in targets(node):
        for part in parts(target):
            word, inside = own(part, names)
            if not word or isinstance(part, cst.Name) or (inside and set_anew(function, word)):
                continue
            again = word in words_of(descendants(value))
            if isinstance(node, cst.AugAssign) or inside or again:
                yield word


def written_by(call: cst.Call, made: set[str], names: dict[str, str]) -> Iterator[str]:
    """The attributes that a function writes samples into: ``scatter_(self.kept, i, x)``."""
    word = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    in_place = word.endswith("_") and not word.endswith("__")
    for at, one in enumerate(call.args):
        written = one.keyword.value in OUT if one.keyword else in_place and not at
        if written and any(is_made(other.value, made) for other in call.args if other is not one):
            kept, _ = own(one.value, names)
            if kept:
                yield kept


def aliases(function: cst.FunctionDef) -> dict[str, str]:
    """The local names of a method for what attributes of ``self`` hold."""
    found: dict[str, str] = {}
    for node in descendants(function.body):
        if isinstance(node, cst.Assign) and (word := own(node.value)[0]):
            found.update({t.target.value: word for t in node.targets if type(t.target) is cst.Name})
    return found


def is_made(value: cst.CSTNode, made: set[str]) -> bool:
    """Whether names are in an expression otherwise than for how arrays are made."""
    if isinstance(value, cst.Name):
        return value.value in made
    if isinstance(value, cst.Attribute):
        return value.attr.value not in MAKE and is_made(value.value, made)
    if isinstance(value, cst.Subscript) and is_first_of_shape(value):
        return is_made(value.value.value, made)  # type: ignore[attr-defined]
    if isinstance(value, cst.Call):
        word = value.func.attr if isinstance(value.func, cst.Attribute) else value.func
        if isinstance(word, cst.Name) and word.value.endswith(LIKE):
            return False
    if isinstance(value, cst.Arg):
        return is_made(value.value, made)
    return any(is_made(child, made) for child in value.children)


def is_first_of_shape(node: cst.Subscript) -> bool:
    """Whether an expression is a number of samples: ``x.shape[0]``."""
    first = node.slice[0].slice if len(node.slice) == 1 else None
    return (
        isinstance(node.value, cst.Attribute)
        and node.value.attr.value == "shape"
        and isinstance(first, cst.Index)
        and isinstance(first.value, cst.Integer)
        and first.value.evaluated_value == 0
    )


def set_anew(function: cst.FunctionDef, word: str) -> bool:
    """Whether a method sets an attribute to something of its own, such as an empty list."""
    return any(
        isinstance(node, cst.Assign)
        and any(own(one.target) == (word, False) for one in node.targets)
        and word not in words_of(descendants(node.value))
        for node in descendants(function.body)
    )


def targets(node: cst.Assign | cst.AnnAssign | cst.AugAssign) -> list[cst.BaseExpression]:
    """What a statement assigns to."""
    return [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]


def parts(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """A target, or the parts of one that unpacks."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from parts(element.value)
    else:
        yield target


def own(node: cst.BaseExpression, names: Mapping[str, str] = NONE) -> tuple[str, bool]:
    """The attribute of ``self`` behind an expression, and whether it is only a part of it.

    Args:
        node: the expression.
        names: local names that stand for attributes.
    """
    inside = False
    if isinstance(node, cst.Name):
        return names.get(node.value, ""), False
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
            return (node.attr.value if node.value.value == "self" else ""), inside
        node, inside = node.value, True
    if isinstance(node, cst.Name):
        return names.get(node.value, ""), inside
    return "", inside


def words_of(nodes: Iterable[cst.CSTNode]) -> set[str]:
    """The attributes of ``self`` among nodes."""
    return {
        node.attr.value
        for node in nodes
        if isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value == "self"
    }
