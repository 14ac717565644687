"""See to it that no trainer leaves the others waiting, or trains with weights of its own.

What:
    Looks at the ways out of the training loops and at weights that are loaded. Where only trainer
    0 can go on after the training, because it alone has written what is read then, the other
    trainers leave there.

Why:
    In synchronous training the servers wait for every trainer at every step: one that breaks out of
    the loop on a number of its own share stops all the others. What a trainer alone writes into the
    parameters is overwritten with the servers' after the first step. A file that trainer 0 writes
    is not there yet when the others read it.

Before:
    train(exe)
    program, feeds, targets = fluid.io.load_inference_model(path, exe)

After:
    train(exe)
    leave_to_main_process()
    program, feeds, targets = fluid.io.load_inference_model(path, exe)

Refuses when:
    a training loop is left, or a batch passed over, depending on numbers that differ between the
    trainers; weights are loaded, or variables set, while the training goes on or in another
    module, with parameter servers; what trainer 0 writes is read while the training goes on.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/advanced_guide/distributed_training/cluster_howto_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.layout import insert_before
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import Roles, roles_of
from transpile.rules.fluid.effects._once import VOCABULARY
from transpile.rules.fluid.losses._averages import averaged
from transpile.rules.fluid.losses._losses import normalisers
from transpile.rules.fluid.losses._reported import asks_for_failure
from transpile.rules.fluid.programs._serving import loaded, parted, serving_after, shares_loop

CODES = {
    "FL601": "a training loop is left on a number that differs between the trainers",
    "FL602": "what a trainer writes into parameters is lost",
    "FL603": "the other trainers leave here",
    "FL605": "parameter servers load these weights, too",
    "FL604": "something is read while trainer 0 may still be writing it",
}
LEAVING = frozenset({"break", "continue", "return"})
ENDING = frozenset({"builtins.exit", "builtins.quit", "sys.exit", "os._exit"})


def decide(plan: Plan) -> Iterator[Answer]:
    """The ways out of the loops, the weights that are loaded, and where trainers leave."""
    roles = roles_of(plan)
    if not roles.training or roles.transpiles:
        if roles.transpiles:
            event = roles.transpiles[0]
            yield Ruling.done("FL603", event, "the script transpiles its program itself")
        return
    if not plan.options.async_mode:
        yield from exits(plan, roles)
        yield from failures(plan, roles)
    if plan.options.mode != "nccl2":
        yield from loads(plan)
    yield from reads(plan, roles)


# Ways out.


def exits(plan: Plan, roles: Roles) -> Iterator[Ruling]:
    """Ways out of training loops that not all trainers take together."""
    loops = {id(loop.node) for run in roles.training for loop in run.event.loops()}
    averages = averaged(plan)
    shared = {id(each.event.node) for each in averages if each.whole}
    own = {
        id(value)
        for run in roles.training
        if id(run.event.node) not in shared
        for value in run.event.result
    }
    evaluated = set()
    if normalisers(plan):
        evaluated = {
            id(value)
            for run in roles.runs
            if run not in roles.training and run not in roles.starts
            for value in run.event.result
        }
    for event in plan.facts.events:
        if event.detached or not any(id(loop.node) in loops for loop in event.loops()):
            if not (event.kind == "test" and event.name == "while"):
                continue
        tests: list[cst.CSTNode] = []
        if event.kind == "exit" and event.name in LEAVING:
            tests = list(conditions(event))
        elif event.kind == "call" and names_of(event) & ENDING:
            tests = [each for each in conditions(event) if not is_failure(plan, each)]
        elif event.kind == "test" and event.name == "while":
            holder = event.module.source.parent(event.node)
            if id(holder) not in loops:
                continue
            tests = [event.node]
        for test in tests:
            values = plan.facts.values_of(test)
            own_numbers = walk_back(values, lambda value: not any(a.gives(value) for a in averages))
            behind = {id(value) for value in own_numbers}
            if behind & own:
                why = "what a trainer fetches from its own share of the batch"
            elif behind & evaluated:
                why = "an evaluation with each trainer's own statistics of batch norm"
            else:
                continue
            yield Ruling.refuse(
                "FL601",
                event,
                f"the training loop is left or shortened here depending on {why}: the other "
                "trainers would wait for ever",
                "decide on the number of steps, or on an evaluation of a test program",
            )
            break


def is_failure(plan: Plan, test: cst.CSTNode) -> bool:
    """Whether a test asks for numbers that are none, after which the whole job is of no use."""
    behind = list(walk_back(plan.facts.values_of(test)))
    failed: bool = asks_for_failure(behind)
    return failed


def conditions(event: Event) -> Iterator[cst.CSTNode]:
    """The tests of the branches around a way out, within its function."""
    inner = event.node
    for outer in event.module.source.parents(event.node):
        if isinstance(outer, cst.If) and inner is not outer.test:
            yield outer.test
        if isinstance(outer, cst.FunctionDef):
            return
        inner = outer


def failures(plan: Plan, roles: Roles) -> Iterator[Ruling]:
    """Handlers that go on after a step that failed in this trainer alone."""
    seen: set[int] = set()
    for run in roles.training:
        source = run.event.module.source
        inner = run.event.node
        for outer in source.parents(run.event.node):
            if isinstance(outer, cst.FunctionDef):
                break
            if isinstance(outer, cst.Try) and inner is outer.body:
                for handler in outer.handlers:
                    if id(handler) not in seen and goes_on(plan, handler):
                        seen.add(id(handler))
                        yield Ruling.refuse(
                            "FL601",
                            (run.event.module, handler),
                            "a step that fails is passed over here: the other trainers would wait "
                            "for it for ever",
                            "let the script fail",
                        )
            inner = outer


def goes_on(plan: Plan, handler: cst.ExceptHandler) -> bool:
    """Whether the script goes on after an exception that not every trainer meets."""
    values = plan.facts.values_of(handler.type) if handler.type is not None else ()
    names = [getattr(value, "name", "") for value in values]
    if names and all(name.endswith(("EOFException", "StopIteration")) for name in names):
        return False
    last: cst.CSTNode = handler.body
    while isinstance(last, (cst.IndentedBlock, cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        last = last.body[-1]
    if isinstance(last, cst.Raise):
        return False
    called = last.value if isinstance(last, cst.Expr) else None
    if isinstance(called, cst.Call):
        functions = plan.facts.values_of(called.func)
        return not any(getattr(value, "name", "").endswith("exit") for value in functions)
    return True


# Weights.


def loads(plan: Plan) -> Iterator[Answer]:
    """What is to say about weights that are loaded."""
    found = serving_after(plan)
    if isinstance(found, Event):
        yield Ruling.refuse(
            "FL602",
            found,
            "the parameter servers hold the parameters: what is written into them here does not "
            "come to the servers",
            "load weights behind the run of the startup program and before the training loop, in "
            "the script itself, or convert with --mode nccl2",
        )
    elif found is not None:
        last = loaded(plan)[-1]
        yield Remark.note(
            "FL605",
            last,
            "parameter servers come here, too, and serve the weights behind this",
            "see that their machines have the files",
        )


# Reading what trainer 0 writes.


def reads(plan: Plan, roles: Roles) -> Iterator[Ruling]:
    """Where the other trainers must leave, because trainer 0 alone has what is read."""
    written = any(
        event.kind == "call" and not event.detached and names_of(event) & VOCABULARY.writes
        for event in plan.facts.events
    )
    if not written:
        return
    last = max(roles.training, key=lambda run: run.event.order).event
    for event in plan.facts.reached_calls:
        if not names_of(event) & VOCABULARY.reads:
            continue
        if event.order < last.order and not shares_loop(event, last):
            continue
        places = parted(plan, last, event) if not shares_loop(event, last) else None
        if places is None:
            yield Ruling.refuse(
                "FL604",
                event,
                "what trainer 0 writes is read here while the training goes on, and the other "
                "trainers may come here before it is written",
                "evaluate a test program instead, or read it in a script of its own",
            )
            return
        yield Ruling.apply(
            "FL603",
            (plan.entry, places[1]),
            "trainer 0 alone goes on with what it has written",
            data=places[1],
        )
        return


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call with which the other trainers leave."""
    yield Helper("leave_to_main_process", plan.entry)
    name = plan.names_in(plan.entry).fresh("leave_to_main_process")
    for edit in insert_before(plan.entry.source, ruling.data, [f"{name}()"], order=-5):
        yield In(plan.entry, edit)
