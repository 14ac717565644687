"""Where a script's program becomes distributed, and how the programs are written there."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import Opaque
from transpile.plan.flow.places import Statement, function_of, insertion_place, start
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.gradients._minimizes import Minimize
from transpile.rules.fluid.programs._programs import MAIN, STARTUP, Program, programs_of
from transpile.rules.fluid.programs._runs import PARALLEL_EXECUTOR, Run


@dataclass(frozen=True, eq=False)
class Place:
    """Where the program becomes distributed.

    Args:
        minimize: what is minimised.
        event: the first use of the programs behind it, in front of which the call stands.
        statement: the statement of that use.
        startup: the run of the startup program.
        program_text: how the program is written there; empty for the default one.
        startup_text: how the startup program is written there; empty for the default one.
        condition: when there is something to transpile, as the script asks; empty for always.
        others: how further programs that are trained are written there.
    """

    minimize: Minimize
    event: Event
    statement: Statement
    startup: Run
    program_text: str
    startup_text: str
    condition: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class NoPlace:
    """Why there is no such place.

    Args:
        event: what stands in the way; None for the whole script.
        why: the reason.
        advice: what to do by hand.
    """

    event: Event | None
    why: str
    advice: str


@query
def place_of(plan: Plan) -> Place | NoPlace:
    """Where the program becomes distributed; found once for all rules."""
    return find_place(plan)


def find_place(plan: Plan) -> Place | NoPlace:
    """See :func:`place_of`."""
    roles = roles_of(plan)
    minimize = roles.minimize
    several = roles.several if minimize is None else ()
    if several:
        obstacle = no_place_for(plan, several)
        if obstacle is not None:
            return obstacle
        minimize = several[-1]
    if minimize is None:
        second = roles.minimizes[1].event if roles.minimizes else None
        return NoPlace(
            second,
            "several losses are minimised in one program, or with several startup programs",
            "give each loss a program of its own and all of them one startup program, or add the "
            "losses up",
        )
    if minimize.program is None or minimize.startup is None:
        return NoPlace(
            minimize.event,
            "the program that is trained cannot be told",
            "build the network in one fluid.program_guard, or in the default program",
        )
    unknown = next((run for run in roles.runs if None in run.programs), None)
    if unknown is not None:
        return NoPlace(
            unknown.event,
            "the program that runs here cannot be told",
            "pass the executor a program whose origin is plain to see",
        )
    if not roles.training:
        return NoPlace(
            minimize.event,
            "no executor is seen to run the program that is trained",
            "run it with fluid.Executor or fluid.ParallelExecutor in the script",
        )
    behind = [run for run in roles.starts if run.event.order > minimize.event.order]
    if not behind or len(roles.starts) > 1:
        return NoPlace(
            roles.starts[-1].event if roles.starts else minimize.event,
            "the startup program is not run exactly once behind minimize()",
            "run the startup program once, behind minimize() and before the training",
        )
    using = [event for each in several or (minimize,) for event in users(plan, each)]
    event = min([behind[0].event, *using], key=lambda each: each.order)
    if event.order < minimize.event.order:
        return NoPlace(
            event,
            "this is made of a program while another one that is trained is still to be built",
            "build all programs first",
        )
    return settled(plan, minimize, event, behind[0], several[:-1])


def no_place_for(plan: Plan, several: tuple[Minimize, ...]) -> NoPlace | None:
    """Why several programs cannot be trained with servers; None where they can."""
    options = plan.options
    event = several[-1].event
    if options.mode == "nccl2" or options.async_mode or options.distributed_embedding:
        return NoPlace(
            event,
            "several programs are trained here, which synchronous servers without distributed "
            "tables alone can do",
            "convert with --mode pserver, without --async-mode and --distributed-embedding",
        )
    for each in several:
        if any(isinstance(frame, (Loop, Branch)) for frame in each.event.stack):
            return NoPlace(
                each.event,
                "one of several programs is made in a loop, or on some ways through the script",
                "make it on every way, once",
            )
    return None


def users(plan: Plan, minimize: Minimize) -> list[Event]:
    """What is made of the program behind minimize() and must see it distributed."""
    programs = programs_of(plan)
    found = []
    for event in plan.facts.reached_calls:
        if event.order < minimize.event.order:
            continue
        names = names_of(event)
        if not names & {"paddle.fluid.CompiledProgram", PARALLEL_EXECUTOR}:
            continue
        for value in event.result:
            if not isinstance(value, Opaque) or value.node is not event.node:
                continue
            if PARALLEL_EXECUTOR in called_names(value):
                given = value.arguments.get("main_program", 2)
                made = programs.of(given.values) if given is not None else None
                made = made or programs.current(event.stack, 0)
            else:
                made = programs.of((value,))
            if made is None or (made.key == (minimize.program or made).key and not made.testing):
                found.append(event)
    return found


def settled(
    plan: Plan, minimize: Minimize, event: Event, startup: Run, others: tuple[Minimize, ...] = ()
) -> Place | NoPlace:
    """The place in front of an event, where a call can stand there."""
    training = roles_of(plan).training
    for each in (minimize.event, event):
        if any(isinstance(frame, Loop) for frame in each.stack):
            return NoPlace(
                each,
                "the network is built or initialised in a loop, and it is distributed once",
                "train one network in a script",
            )
    if not event.module.is_entry or not startup.event.module.is_entry:
        return NoPlace(
            event,
            "the startup program runs in another module of the project",
            "run it in the script itself",
        )
    statement = insertion_place(plan.entry, event.node)
    assert statement is not None
    arms = [frame for frame in event.stack if isinstance(frame, Branch)]
    for run in training:
        if any(arm not in run.event.stack for arm in arms):
            return NoPlace(
                event,
                "the programs are initialised on one branch, and trained on others, too",
                "run the startup program on every way to the training",
            )
        if run.event.order < event.order:
            return NoPlace(
                run.event,
                "the program runs before it is initialised",
                "run the startup program first",
            )
    assert minimize.program is not None and minimize.startup is not None
    texts = []
    programs = [(minimize.program, MAIN), (minimize.startup, STARTUP)]
    programs += [(each.program, MAIN) for each in others if each.program is not None]
    for program, default in programs:
        text = "" if program.key == default else written(plan, program, statement)
        if text is None:
            return NoPlace(
                event,
                "one of the programs has no name where it is initialised",
                "keep the program in a variable of the same function",
            )
        texts.append(text)
    condition = condition_of(plan, minimize, event) if any(texts) else ""
    if condition is None:
        return NoPlace(
            minimize.event,
            "the program that is trained is made on some ways through the script only",
            "make it on every way, or train in a script of its own",
        )
    further = tuple(text or "None" for text in texts[2:])
    return Place(minimize, event, statement, startup, texts[0], texts[1], condition, further)


def condition_of(plan: Plan, minimize: Minimize, event: Event) -> str | None:
    """When something is minimised, asked at a later event; None where that cannot be written."""
    tests = []
    for frame in minimize.event.stack:
        if not isinstance(frame, Branch) or frame in event.stack:
            continue
        node = frame.node
        if not isinstance(node, cst.If) or frame.arm != "then" or not plan.entry.source.has(node):
            return None
        if function_of(plan.entry, node) is not function_of(plan.entry, event.node):
            continue
        if not is_stable(node.test):
            return None
        tests.append(plan.entry.source.code(node.test))
    return " and ".join(tests)


def written(plan: Plan, program: Program, statement: Statement) -> str | None:
    """How a program is written at a statement: a name or attribute that is bound before it."""
    module = plan.entry
    programs = programs_of(plan)
    here = start(module, statement)
    functions = {id(function_of(module, statement))}
    functions |= {
        id(outer)
        for outer in module.source.parents(statement)
        if isinstance(outer, cst.FunctionDef)
    }
    functions.add(id(None))
    for node in module.source.nodes:
        if not isinstance(node, (cst.Name, cst.Attribute)):
            continue
        values = plan.facts.values_of(node)
        if len(values) != 1 or start(module, node) >= here:
            continue
        if isinstance(node, cst.Name) and isinstance(module.source.parent(node), cst.Attribute):
            parent = module.source.parent(node)
            if isinstance(parent, cst.Attribute) and parent.attr is node:
                continue
        if id(function_of(module, node)) not in functions:
            continue
        if programs.of(values) == program and is_stable(node):
            return module.source.code(node)
    return None


def is_stable(node: cst.CSTNode) -> bool:
    """Whether an expression is a name, or attributes of one."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
