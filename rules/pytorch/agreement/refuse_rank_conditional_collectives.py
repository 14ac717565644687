"""Refuse training steps that only some processes would reach.

What:
    A backward pass, an optimizer step, a collective or a call of a trained model that stands
    behind a test of the rank, or in a ``try`` inside the loop of batches whose handler goes on
    after an error, is an error; a handler around the whole training is a warning.

Why:
    Each of these waits for all processes. One that does not come, because it has another rank or
    ran out of memory alone, leaves all others waiting until the time limit ends the job.

Before:
    for batch in loader:
        try:
            train_step(batch)
        except RuntimeError:
            continue

After:
    for batch in loader:
        train_step(batch)

Refuses when:
    a step is reached by some ranks only; an error of a step in the loop of batches is swallowed.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.facts.walk import children
from transpile.plan.flow.ranks import Ranks
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.pytorch.agreement._raised import is_shared
from transpile.rules.pytorch.agreement._steps import Step
from transpile.rules.pytorch.agreement._together import EXITS, passed_by, steps_of

CODES = {
    "PT721": "a training step is reached by some ranks only",
    "PT722": "an error of a training step is swallowed in the loop of batches",
    "PT723": "an error of the training is swallowed around it",
}
BARRIERS = frozenset({"torch.distributed.barrier"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step, and each handler, that some processes may pass alone."""
    yield from behind_ranks(plan)
    yield from behind_handlers(plan)


def behind_ranks(plan: Plan) -> Iterator[Answer]:
    """Steps behind a test of the rank."""
    ranks = Ranks(plan, BARRIERS)
    seen: set[int] = set()
    for step in steps_of(plan):
        if step.key[0] in BARRIERS or step.key[0] in ("load", "optimizer"):
            continue
        if id(step.event.node) in seen or not ranks.some_ranks(step.event):
            continue
        seen.add(id(step.event.node))
        yield Ruling.refuse(
            "PT721",
            step.event,
            f"this {step.word} is reached by some ranks only, and waits for all of them",
            "let every process come here, and keep for rank 0 what follows from the result",
        )


def behind_handlers(plan: Plan) -> Iterator[Answer]:
    """Handlers that go on after an error of a step, or past one."""
    seen: set[int] = set()
    for step in steps_of(plan):
        # Nobody waits for another process in these, and what is not there is not for any of them.
        if step.key[0] in ("load", "optimizer", "rate"):
            continue
        for position, frame in enumerate(step.event.stack):
            if not isinstance(frame, Branch) or frame.arm != "body":
                continue
            if not isinstance(frame.node, (cst.Try, cst.TryStar)) or id(frame.node) in seen:
                continue
            handler = swallowing(plan, frame.node)
            if handler is None:
                continue
            seen.add(id(frame.node))
            inside = any(isinstance(outer, Loop) for outer in step.event.stack[:position])
            yield swallowed(plan, step, handler, inside)
    for event in plan.facts.events:
        handler = handler_around(event)
        if handler is None or id(handler) in seen or not catches(plan, handler):
            continue
        passed = passed_by(plan, event, steps_of(plan))
        if (
            passed is not None
            and event.name in ("break", "continue")
            and in_batch_loop(plan, event)
        ):
            seen.add(id(handler))
            yield swallowed(plan, passed, handler, True)


def swallowed(plan: Plan, step: Step, handler: cst.CSTNode, inside: bool) -> Answer:
    """The answer for a handler."""
    module = module_of(plan, handler)
    if inside:
        return Ruling.refuse(
            "PT722",
            (module, handler),
            f"a process that goes on here after an error of its own skips the {step.word}, for "
            "which the others wait",
            "let the error end the job, or skip the batch where any process reports a problem",
        )
    return Remark.warn(
        "PT723",
        (module, handler),
        "an error of one process that is swallowed here leaves the others waiting",
        "end the process with an error, so that the launcher ends the others",
    )


def module_of(plan: Plan, node: cst.CSTNode) -> Module:
    """The module that a node belongs to."""
    for module in plan.facts.modules.values():
        if module.source.has(node):
            return module
    return plan.entry


def handler_around(event: Event) -> cst.ExceptHandler | None:
    """The handler that an exit stands in, within its loop."""
    if event.kind != "exit":
        return None
    for frame in reversed(event.stack):
        if isinstance(frame, Branch) and isinstance(frame.node, cst.ExceptHandler):
            return frame.node
        if not isinstance(frame, Branch):
            return None
    return None


def in_batch_loop(plan: Plan, event: Event) -> bool:
    """Whether an exit leaves, or goes on with, a loop that draws training batches."""
    loops = [frame for frame in event.stack if isinstance(frame, Loop)]
    drawing = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    return bool(loops) and id(loops[-1].node) in drawing


def swallowing(plan: Plan, node: cst.Try | cst.TryStar) -> cst.CSTNode | None:
    """The handler of a ``try`` that goes on after an error of one process; None without any."""
    for handler in node.handlers:
        if catches(plan, handler) and goes_on(plan, handler.body):
            return handler
    return None


def catches(plan: Plan, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether a handler catches errors that one process may have alone."""
    kind = handler.type
    if kind is None:
        return True
    kinds = [e.value for e in kind.elements] if isinstance(kind, cst.Tuple) else [kind]
    return any(not is_shared(plan, handler, one) for one in kinds)


def goes_on(plan: Plan, body: cst.CSTNode) -> bool:
    """Whether a process that runs a handler goes on with the script behind it."""
    if leaves_quietly(body):
        return True
    statements = list(getattr(body, "body", ()))
    last = statements[-1] if statements else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Raise):
        return False
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
        callees = plan.facts.values_of(last.value.func)
        return not any(isinstance(value, External) and value.name in EXITS for value in callees)
    return True


def leaves_quietly(node: cst.CSTNode) -> bool:
    """Whether a handler has a ``continue``, ``break`` or ``return``."""
    if isinstance(node, (cst.Continue, cst.Break, cst.Return)):
        return True
    if isinstance(node, (cst.FunctionDef, cst.Lambda)):
        return False
    return any(leaves_quietly(child) for child in children(node))
