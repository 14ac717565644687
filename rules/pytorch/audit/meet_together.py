"""Find what all processes must do together and only some do.

What:
    Collectives, the making and the calls of wrapped models, backward passes, optimizer steps and
    gathered states are followed as the first process of a job, as another one of its machine, and
    as the first of another machine. What one of them does and another does not is an error; so is
    another order.

Why:
    Each of these waits for all processes. One that does not come leaves the others waiting until
    the time limit ends the job; an optimizer step or loaded weights on some processes alone let
    the models diverge without a word.

Before:
    if dist.get_rank() == 0:
        dist.barrier()

After:
    dist.barrier()

Refuses when:
    the number of such calls on one process differs from that on another, whatever the way there:
    branches, early returns, functions of the project, decorators, ``with`` helpers.

Source:
    https://pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.audit.meetings import Alone, Meeting, parting
from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Branch
from transpile.facts.values import Opaque
from transpile.plan.graph import method_calls, origin, walk_back
from transpile.rule import Remark, place
from transpile.rules.pytorch.audit._meetings import meetings, missed_meetings

CODES = {
    "AU101": "some processes do not come to a collective",
    "AU102": "some processes do not call a wrapped model",
    "AU103": "some processes do not take a training step",
    "AU104": "some processes do not take part in gathering a state",
    "AU105": "processes come to collectives in different orders",
}
OF_KIND = {"call": "AU101", "forward": "AU102", "training": "AU103", "state": "AU104"}
#: Methods that give all weights of a model.
WEIGHTS = frozenset({"parameters", "named_parameters", "state_dict"})
ADVICE = {
    "call": "call it on every process, and keep for one of them what follows from it",
    "forward": "call the model on every process, or its .module where no gradient is needed",
    "training": "let every process take this step, and keep for one of them what follows from it",
    "state": "gather the state on every process, and write it on one",
}


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each place that not all processes come to."""
    seen: set[int] = set()
    for alone in missed_meetings(audit):
        seen.add(id(alone.meeting.event.node))
        if not is_spread(alone):
            yield remark(audit, alone)
    ranks = Ranks(audit.vocabulary)
    known = meetings(audit, audit.first)
    for meeting in known:
        node = meeting.event.node
        test = ranks.open_test(audit, meeting.event)
        if test is None or id(node) in seen or balanced(meeting, known):
            continue
        seen.add(id(node))
        yield Remark.error(
            OF_KIND[meeting.kind],
            (meeting.event.module, node),
            f"this {meeting.word} waits for all processes, but stands behind a test of the "
            "process's number",
            ADVICE[meeting.kind],
        )


def is_spread(alone: Alone) -> bool:
    """Whether weights that one process loads are broadcast from it behind that."""
    event = alone.meeting.event
    if alone.meeting.key[0] != "load":
        return False
    loaded = {
        id(getattr(origin(value), "node", None))
        for callee in event.callee
        if isinstance(callee, Opaque)
        for value in callee.operands[0]
    }
    return any(
        other.order > event.order
        and id(other.node) in alone.misses.calls
        and any(
            id(getattr(origin(owner), "node", None)) in loaded
            for item in other.arguments.items[:1]
            for value in walk_back(item.values)
            for name, receiver in method_calls(value)
            if name in WEIGHTS
            for owner in receiver
        )
        for other in alone.comes.facts.calls_to("torch.distributed.broadcast")
    )


def balanced(meeting: Meeting, others: list[Meeting]) -> bool:
    """Whether the other arm of an open condition has a counterpart."""
    for frame in meeting.event.stack:
        if not isinstance(frame, Branch):
            continue
        for other in others:
            if other.key == meeting.key and any(
                isinstance(f, Branch) and f.node is frame.node and f.arm != frame.arm
                for f in other.event.stack
            ):
                return True
    return False


def remark(audit: Audit, alone: Alone) -> Remark:
    """What to say of a meeting that some processes miss."""
    meeting = alone.meeting
    if alone.crossed:
        return Remark.error(
            "AU105",
            meeting.event,
            f"some processes come to this {meeting.word} while others wait in another collective",
            "let all processes come to collectives in the same order",
        )
    found = parting(audit, alone)
    why = "only some of them come here"
    if found is not None:
        path, line, _ = place(*found)
        where = f"line {line}" if path == place(meeting.event.module, None)[0] else f"{path}:{line}"
        why = f"at the test in {where} only some of them go this way"
    goes_apart = meeting.key[0] in ("step", "load")
    what = (
        f"this {meeting.word} happens on some processes alone, and their models diverge"
        if goes_apart
        else f"this {meeting.word} waits for all processes"
    )
    return Remark.error(
        OF_KIND[meeting.kind],
        meeting.event,
        f"{what}: {why}" if goes_apart else f"{what}, but {why}",
        ADVICE[meeting.kind],
    )
