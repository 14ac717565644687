"""Wait for the process that writes before every process reads.

What:
    A barrier before the statement in which every process reads a file that the script has
    written before: by then one process alone has written it. Where one statement writes and reads,
    the barrier stands in the function that reads, or behind the write.

Why:
    The others would find no file, an old one, or half of it.

Before:
    torch.save(model.state_dict(), "best.pt")
    model.load_state_dict(torch.load("best.pt"))

After:
    if is_main_process():
        torch.save(model.state_dict(), "best.pt")
    barrier()
    model.load_state_dict(torch.load("best.pt"))

Refuses when:
    never: a path that still differs from process to process is reported, and so are one that is
    removed while other processes may still read it, and a read with no place to wait before it.

Source:
    https://pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import wait_before_reading
from transpile.plan.effects.effects import Effect
from transpile.plan.effects.readback import ReadBack, find_unplaced
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Remark, Ruling, Rulings
from transpile.rules.pytorch.agreement._own_paths import own_paths
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY

CODES = {
    "PT571": "every process waits before it reads what one process writes",
    "PT572": "every process reads from a path that only one of them has",
    "PT573": "one process removes what the others may still read",
    "PT574": "every process reads what one process may not have written yet",
}
#: What takes files away.
REMOVALS = frozenset({"shutil.rmtree", "os.remove", "os.unlink", "os.rmdir", "unlink()", "rmdir()"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    once = once_of(plan)
    answers = list(wait_before_reading.decide(plan, VOCABULARY, own_paths(plan).settle))
    yield from answers
    for effect, read in find_unplaced(once, VOCABULARY):
        yield Remark.warn(
            "PT574",
            read,
            f"{effect.word} on rank 0 writes what every process reads here: the functions that "
            "write and read are called in one place, and nobody waits between them",
            "let every process come to a barrier behind the writing",
        )
    read_backs = [each.data for each in answers if isinstance(each, Ruling)]
    for effect in once.effects.values():
        if effect.word in REMOVALS and any(follows(effect, each) for each in read_backs):
            yield Remark.warn(
                "PT573",
                effect,
                "rank 0 removes here what the other processes may still be reading",
                "let every process come to a barrier in front of it",
            )


def follows(effect: Effect, read_back: ReadBack) -> bool:
    """Whether something stands behind a place that reads, in the same function."""
    if effect.module is not read_back.module or read_back.waits:
        return False
    source = effect.module.source
    if source.span(effect.node).start <= source.span(read_back.statement).start:
        return False
    own = function_of(effect.module, effect.node)
    return own is function_of(effect.module, read_back.statement)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The barrier before the statement."""
    yield from wait_before_reading.wait(plan, (ruling.module, ruling.data.statement), "barrier")
