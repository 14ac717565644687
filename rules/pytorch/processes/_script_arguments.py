"""Where a script's own argument parser takes the options of the process group."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.layout.calls import written_call
from transpile.plan.flow.places import Statement, ancestors, index_in, statement_in, statement_of
from transpile.plan.flow.start import PARSERS, Start
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass

PARSER_CLASS = "argparse.ArgumentParser"
OPTIONS = ("backend", "init_method", "rank", "world_size")


@dataclass(frozen=True, eq=False)
class Parsing:
    """Where the options are added and read.

    Args:
        parser: the expression of the parser.
        statement: the statement that parses, before which the options are added.
        arguments: the variable that holds the parsed arguments where the process group is joined.
        by_item: the variable is a dict made by ``vars``.
    """

    parser: str
    statement: Statement
    arguments: str
    by_item: bool

    def lines(self, plan: Plan) -> list[str]:
        """The lines that add the options."""
        source = plan.entry.source
        indentation = len(source.indentation_of(source.span(self.statement).start))
        default = "nccl" if plan.options.backend == "auto" else plan.options.backend
        found = []
        for arguments in (
            ['"--backend"', f'default="{default}"', 'choices=["gloo", "nccl", "mpi"]'],
            ['"--init-method"', 'help="for example tcp://HOST:PORT"'],
            ['"--rank"', "type=int"],
            ['"--world-size"', "type=int"],
        ):
            found += written_call(f"{self.parser}.add_argument", arguments, indentation)
        return found

    @property
    def given(self) -> list[str]:
        """What the set-up function is given."""
        if self.by_item:
            return [f'{self.arguments}["{name}"]' for name in OPTIONS]
        return [f"{self.arguments}.{name}" for name in OPTIONS]


def find_parsing(plan: Plan, start: Start) -> Parsing | tuple[Module, cst.CSTNode, str]:
    """Where the options go, or the place and the reason why they cannot."""
    events = list(parse_events(plan))
    if not events:
        return plan.entry, plan.entry.source.tree, "it has no argparse parser that can be found"
    conflict = conflicting(plan)
    if conflict is not None:
        return conflict
    reason: tuple[Module, cst.CSTNode, str] = (
        events[0].module,
        events[0].node,
        "no variable holds what this call gives where the process group is joined",
    )
    for event in events:
        if event.module is not plan.entry:
            reason = (
                event.module,
                event.node,
                "its arguments are parsed in another module of the project",
            )
            continue
        held = variable(plan, start, event)
        if held is None:
            continue
        first = min(
            (other for other in events if receiver(other) is receiver(event)),
            key=lambda other: other.order,
        )
        assert isinstance(first.node, cst.Call) and isinstance(first.node.func, cst.Attribute)
        statement = statement_of(plan.entry, first.node)
        if not is_path(first.node.func.value) or statement is None:
            reason = (
                event.module,
                event.node,
                "the parser is in no variable to which options could be added",
            )
            continue
        name, by_item = held
        return Parsing(plan.entry.source.code(first.node.func.value), statement, name, by_item)
    return reason


def parse_events(plan: Plan) -> Iterator[Event]:
    """The calls that parse the command line with a parser of argparse."""
    for event in plan.facts.reached_calls:
        if not isinstance(event.node, cst.Call):
            continue
        if not isinstance(event.node.func, cst.Attribute):
            continue
        if event.node.func.attr.value in PARSERS and receiver(event) is not None:
            yield event


def receiver(event: Event) -> Value | None:
    """The parser that a call is made on."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            for value in callee.operands[0]:
                if is_parser(value):
                    return value
    return None


def is_parser(value: Value) -> bool:
    """Whether a value is a parser of argparse."""
    if isinstance(value, Instance):
        return PARSER_CLASS in value.cls.external_bases()
    return PARSER_CLASS in called_names(value)


def conflicting(plan: Plan) -> tuple[Module, cst.CSTNode, str] | None:
    """An option of the script that has the name of one to add."""
    for event in plan.facts.reached_calls:
        words = {callee.name for callee in event.callee if isinstance(callee, Opaque)}
        if not words & {"add_argument", "set_defaults"}:
            continue
        for name in option_names(event):
            if name in OPTIONS:
                option = "--" + name.replace("_", "-")
                return event.module, event.node, f"it has an option {option} of its own"
    return None


def option_names(event: Event) -> Iterator[str]:
    """The attributes that one ``add_argument`` fills."""
    for argument in event.arguments.items:
        if argument.keyword in (None, "dest"):
            for value in argument.values:
                if isinstance(value, Constant) and isinstance(value.value, str):
                    if argument.keyword == "dest" or value.value.startswith("--"):
                        yield value.value.lstrip("-").replace("-", "_")
                    elif not value.value.startswith("-"):
                        yield value.value.replace("-", "_")


def variable(plan: Plan, start: Start, event: Event) -> tuple[str, bool] | None:
    """The variable that holds the result at the set-up, and whether it is a dict."""
    parsed = {id(value) for value in event.result}
    if len(parsed) != 1:
        return None
    for name in candidates(plan, start):
        values = plan.facts.values_of(name)
        if len(values) != 1:
            continue
        by_item = "builtins.vars" in called_names(values[0])
        if by_item:
            values = values[0].arguments.items[0].values  # type: ignore[union-attr]
        if is_result(values, parsed) and is_bound(plan, start, name.value):
            return name.value, by_item
    return None


def is_result(values: Values, parsed: set[int]) -> bool:
    """Whether values are the parsed arguments, or the first of what parse_known_args gives."""
    if len(values) != 1:
        return False
    value = values[0]
    if id(value) in parsed:
        return not is_pair(value)
    if isinstance(value, Opaque) and value.kind in ("element", "item"):
        base = value.operands[0]
        first = not value.index or value.index == (Constant(0),)
        return len(base) == 1 and id(base[0]) in parsed and is_pair(base[0]) and first
    return False


def is_pair(value: Value) -> bool:
    """Whether a call gives the parsed arguments together with those that it does not know."""
    return isinstance(value, Opaque) and any(
        isinstance(callee, Opaque) and callee.name == "parse_known_args" for callee in value.callee
    )


def candidates(plan: Plan, start: Start) -> Iterator[cst.Name]:
    """The variables that are read in the scope of the set-up."""
    for node in descendants(start.function or start.block):
        if isinstance(node, cst.Name):
            yield node


def is_bound(plan: Plan, start: Start, name: str) -> bool:
    """Whether a variable has its value where the process group is joined."""
    if start.function is not None:
        parameters = start.function.params
        given = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
        if any(parameter.name.value == name for parameter in given):
            return True
    assigned = list(bindings(plan, name))
    limit = start.parsed or start.first
    for node in assigned:
        statement = statement_in(plan.entry, start.block, node)
        if statement is not None and is_direct(plan, start.block, node):
            if index_in(start.block, statement) <= index_in(start.block, limit):
                return True
    local = start.function is not None and any(
        start.function in ancestors(plan.entry, node) for node in assigned
    )
    return not local and any(at_top(plan, node) for node in assigned)


def bindings(plan: Plan, name: str) -> Iterator[cst.CSTNode]:
    """The assignments to a variable, in whatever scope."""
    for node in descendants(plan.entry.source.tree):
        if isinstance(node, cst.Assign):
            targets = [target.target for target in node.targets]
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        for target in targets:
            if isinstance(target, cst.Tuple):
                parts = [element.value for element in target.elements]
            else:
                parts = [target]
            if any(isinstance(part, cst.Name) and part.value == name for part in parts):
                yield node


def is_direct(plan: Plan, block: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether an assignment stands in a block itself and not in a statement of it."""
    source = plan.entry.source
    line = source.parent(node)
    return line is not None and source.parent(line) is block


def at_top(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether an assignment is run by the module itself: in its body or its main guard."""
    return not any(
        isinstance(ancestor, (cst.FunctionDef, cst.ClassDef, cst.For, cst.While, cst.Try))
        for ancestor in ancestors(plan.entry, node)
    )


def is_path(node: cst.CSTNode) -> bool:
    """Whether an expression is a name or an attribute of one."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
