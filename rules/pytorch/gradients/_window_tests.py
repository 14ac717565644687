"""The tests under which an optimizer steps, and what they are before the forward pass."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import Statement, ancestors, function_of, index_in, spelled_out
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.pytorch.processes._script_arguments import is_path

#: Functions that may stand in the test of a window: they only compute.
PLAIN_FUNCTIONS = frozenset({"len", "int", "max", "min", "bool"})


@dataclass(frozen=True, eq=False)
class Window:
    """The test under which the optimizer steps.

    Args:
        module: where it is.
        loop: the loop over the batches.
        test: the statement whose body steps; None where the step follows the loop.
    """

    module: Module
    loop: Loop
    test: cst.If | None


def counting_test(step: Event, loop: Loop) -> cst.If | None:
    """The outermost ``if`` inside the loop that a step is under and that tests a counter of it."""
    inside = False
    counted = counters(loop)
    for frame in step.stack:
        if isinstance(frame, Loop) and frame.node is loop.node:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, cst.If):
            if not loop.module.source.has(frame.node):
                # It stands in a function of another module.
                continue
            asked = spelled_out(loop.module, frame.node.test)
            texts = {loop.module.source.code(leaf) for leaf in leaves(asked)}
            if texts & counted and loop.node in ancestors(loop.module, frame.node):
                return frame.node
    return None


def counters(loop: Loop) -> set[str]:
    """The variables that count the rounds of a loop."""
    source = loop.module.source
    found: set[str] = set()
    if isinstance(loop.node, cst.For):
        target: cst.BaseExpression | None = loop.node.target
        call = loop.node.iter
        if isinstance(target, cst.Tuple) and target.elements:
            target = target.elements[0].value
        elif not (isinstance(call, cst.Call) and source.code(call.func).endswith("range")):
            target = None
        if isinstance(target, cst.Name):
            found.add(target.value)
    for node in descendants(loop.node):
        if isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
            found.add(source.code(node.target))
    return found


def leaves(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The variables that a test reads: names and attributes, not the functions it calls."""
    stack: list[cst.CSTNode] = [test]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Call):
            stack.extend(argument.value for argument in node.args)
        elif isinstance(node, (cst.Name, cst.Attribute)):
            yield node
        else:
            stack.extend(children(node))


def asked_of(event: Event, test: cst.If) -> bool:
    """Whether an ``if`` decides on an event, in whichever of its arms it is."""
    return any(isinstance(frame, Branch) and frame.node is test for frame in event.stack)


def find_condition(
    plan: Plan, window: Window, block: cst.IndentedBlock, test: cst.If, first: Statement
) -> str | None:
    """The text that has, before the forward pass, the value that the test will have."""
    module = window.module
    source = module.source
    between = block.body[index_in(block, first) : index_in(block, test)]
    changed = assigned(module, between)
    added: dict[str, str] = {}
    for statement in between:
        found = increment(module, statement)
        if found is not None and found[0] not in added:
            name, amount = found
            if len(list(targets(module, between, name))) == 1:
                added[name] = amount
    asked = test.test
    if source.code(asked) in changed:
        # The name of the test has its value between the forward pass and the test.
        asked = spelled_out(module, asked)
    for node in (asked, *descendants(asked)):
        if isinstance(node, (cst.NamedExpr, cst.Subscript, cst.Lambda, cst.Await)):
            return None
        if isinstance(node, cst.Call) and not is_plain(node):
            return None
    batch_sizes = {
        source.code(argument.node)
        for loader in plan.loaders
        if (argument := loader.argument("batch_size")) is not None and argument.node is not None
    }
    pieces: list[tuple[int, int, str]] = []
    for leaf in leaves(asked):
        text = source.code(leaf)
        if text in ("True", "False", "None"):
            continue
        if not is_path(leaf) or text in batch_sizes or changes_elsewhere(plan, module, leaf, test):
            return None
        if text in added:
            span = source.span(leaf)
            pieces.append((span.start, span.end, f"({text} + {added[text]})"))
        elif any(text == name or text.startswith(f"{name}.") for name in changed):
            return None
    offset = source.span(asked).start
    condition = source.code(asked)
    for begin, end, text in sorted(pieces, reverse=True):
        condition = condition[: begin - offset] + text + condition[end - offset :]
    if "#" in condition or '"""' in condition:
        return None
    return " ".join(condition.split())


def is_plain(call: cst.Call) -> bool:
    """Whether a call only computes."""
    return isinstance(call.func, cst.Name) and call.func.value in PLAIN_FUNCTIONS


def increment(module: Module, statement: cst.CSTNode) -> tuple[str, str] | None:
    """The variable and the amount of a line such as ``steps += 1``."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if (
        isinstance(small, cst.AugAssign)
        and isinstance(small.operator, cst.AddAssign)
        and isinstance(small.value, cst.Integer)
    ):
        return module.source.code(small.target), small.value.value
    return None


def assigned(module: Module, nodes: object) -> set[str]:
    """The texts of everything that some statements assign to."""
    return set(targets(module, nodes))


def targets(module: Module, nodes: object, only: str = "") -> Iterator[str]:
    """The texts of the targets of assignments, each time that one stands there."""
    for statement in nodes:  # type: ignore[attr-defined]
        for node in (statement, *descendants(statement)):
            for target in targets_of(node):
                for part in parts(target):
                    text = module.source.code(part)
                    if not only or text == only:
                        yield text


def targets_of(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What one node assigns to."""
    if isinstance(node, cst.Assign):
        return [target.target for target in node.targets]
    if isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.CompFor)):
        return [node.target]
    if isinstance(node, cst.AsName):
        return [node.name]
    return []


def parts(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The single targets of a target."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from parts(element.value)
    else:
        yield target


def changes_elsewhere(
    plan: Plan, module: Module, leaf: cst.BaseExpression, test: cst.CSTNode
) -> bool:
    """Whether another function than the loop's, but no constructor, assigns to a variable."""
    here = function_of(module, test)
    for other in plan.facts.modules.values():
        for node in descendants(other.source.tree):
            if isinstance(leaf, cst.Name):
                if isinstance(node, (cst.Global, cst.Nonlocal)):
                    names = {item.name.value for item in node.names}
                    if leaf.value in names and function_of(other, node) is not here:
                        return True
                continue
            assert isinstance(leaf, cst.Attribute)
            for target in targets_of(node):
                for part in parts(target):
                    if isinstance(part, cst.Attribute) and part.attr.value == leaf.attr.value:
                        owner = function_of(other, node)
                        if owner is None or owner is here or owner.name.value == "__init__":
                            continue
                        return True
    return False
