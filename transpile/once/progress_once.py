"""Show progress bars once per job.

What:
    Bars of ``tqdm``, ``rich`` and ``alive_progress`` are switched off in every process but the one
    with rank 0; they still iterate there.

Why:
    N bars would overwrite each other on one terminal.

Before:
    for batch in tqdm($batches):

After:
    for batch in tqdm($batches, disable=not is_main_process()):

Refuses when:
    never: bars that cannot be switched off are reported.

Source:
    https://tqdm.github.io/docs/tqdm/#tqdm-objects
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant
from transpile.layout import add_argument, replace_argument_value
from transpile.once.shared import argument_of, main_process, once_of, only_here, surround
from transpile.plan.effects.effect_names import ALWAYS_SHOWN
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

#: What the findings say, by their numbers.
CODES = {
    "531": "a progress bar shows in one process",
    "532": "a progress bar shows in every process",
}


SWITCH_OFF = "pass disable= where the rank is not 0"
SHOW_ONE = "show the bar where the rank is 0, or take one of tqdm"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each progress bar."""
    once = once_of(plan)
    for effect in once.effects.values():
        if effect.kind is not Kind.PROGRESS or id(effect.node) in once.idle:
            continue
        if is_done(once, effect):
            yield Ruling.done(
                f"{plan.table.prefix}531",
                effect,
                "the bar shows on one rank alone",
                claims=(effect.node,),
            )
        elif any(getattr(c, "name", "") in ALWAYS_SHOWN for c in effect.event.callee):
            yield everywhere(plan, effect, "no argument of it switches it off", SHOW_ONE)
        elif effect.event.arguments.unknown_because:
            yield everywhere(plan, effect, "its arguments are not known")
        else:
            yield Ruling.apply(
                f"{plan.table.prefix}531",
                effect,
                "the bar shows once per job",
                data=effect,
                claims=(effect.node,),
            )


def everywhere(plan: Plan, effect: Effect, why: str, advice: str = SWITCH_OFF) -> Remark:
    """The warning about a bar that stays as it is."""
    return Remark.warn(
        f"{plan.table.prefix}532",
        effect,
        f"this progress bar shows in every process: {why}",
        advice,
    )


def is_done(once: Once, effect: Effect) -> bool:
    """Whether a bar is switched off on all ranks but one."""
    if id(effect.node) in once.done:
        return True
    written = argument_of(effect, ("disable",), 99)
    if written is not None and isinstance(written.value, cst.IfExp):
        if once.ranks.tests_rank(written.value.test):
            return True
    argument = effect.event.arguments.keyword("disable")
    if argument is None:
        return False
    return argument.values == (Constant(True),) or once.ranks.is_rank(argument.values)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The argument that switches the bar off."""
    effect: Effect = ruling.data
    yield Helper("is_main_process", effect.module)
    written = argument_of(effect, ("disable",), 99)
    test = main_process(plan, effect.module)
    if written is None:
        for edit in add_argument(effect.module.source, effect.node, f"disable=not {test}"):
            yield In(effect.module, edit)
        return
    values = plan.facts.values_of(written.value)
    if values == (Constant(False),):
        for edit in replace_argument_value(
            effect.module.source, effect.node, written, f"not {test}"
        ):
            yield In(effect.module, edit)
        return
    if any(isinstance(value, Constant) and value.value is None for value in values):
        # None has a meaning of its own: no bar where the output is no terminal.
        yield from only_here(plan, effect.module, written.value, "True")
        return
    loose = isinstance(written.value, (cst.IfExp, cst.Lambda)) and not written.value.lpar
    before, after = ("(", ")") if loose else ("", "")
    for edit in surround(effect.module, written.value, before, f"{after} or not {test}"):
        yield In(effect.module, edit)
