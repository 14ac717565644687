"""Let all processes draw alike what a training step draws for its whole batch.

What:
    What the script draws once for all samples of a batch (a task, the place where sequences are
    cut, the coefficient of a mixture, the layers in use) is that of rank 0: a number by itself,
    anything else with the statement that draws it. Where that cannot be, it is warned of. What
    models draw when they are called is noise of each process, as dropout is, and is noted; where it
    says which layers are used, or what else they do, it is warned of.

Why:
    In training every process draws random numbers of its own, for its own samples. A choice for the
    whole batch would be another one for each share of it: one batch would train several tasks.

Before:
    shift = random.randint(0, 3)
    x = x.roll(shift, 1)

After:
    shift = from_main_process(random.randint(0, 3))
    x = x.roll(shift, 1)

Refuses when:
    never: what the processes cannot draw together is a warning.

Source:
    https://arxiv.org/abs/1710.09412, section 2 (one coefficient for all samples of a minibatch),
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.layout import guard, wrap_expression
from transpile.plan.flow.places import Statement
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._data import agreed_nodes, within_agreement
from transpile.rules.pytorch.randomness._collated_draws import collated_draws
from transpile.rules.pytorch.randomness._common_draws import CommonDraw, common_draws
from transpile.rules.pytorch.randomness._drawn_together import Together, placed
from transpile.rules.pytorch.randomness.vary_random_numbers import may_draw, seeded_by_rank

CODES = {
    "PT739": "what is drawn for a whole batch is the same on all processes",
    "PT740": "each process draws for its share what is meant for a whole batch",
    "PT741": "models draw for the share of each process",
}
SAME = "all processes draw the same here"
ADVICE = "draw it in a statement of its own, outside of functions that are called elsewhere, too"


@dataclass(frozen=True, eq=False)
class Agreement:
    """What all processes do alike: a statement, or the expression in it that draws.

    Args:
        module: where it stands.
        statement: the statement.
        node: the expression; None where all of the statement is meant.
    """

    module: Module
    statement: Statement | None
    node: cst.BaseExpression | None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each draw, or for the statement that several stand in."""
    found = common_draws(plan)
    yield from within_models(plan, found)
    if plan.way == "calls":
        return
    agreed = agreed_nodes(plan)
    open_ones: list[CommonDraw] = []
    seen: set[int] = set()
    for draw in found:
        event = draw.event
        if draw.in_model:
            continue
        if id(event.node) in agreed or within_agreement(plan, event):
            if id(event.node) not in seen:
                seen.add(id(event.node))
                yield Ruling.done("PT739", event, SAME)
        else:
            open_ones.append(draw)
    for together in placed(plan, open_ones):
        yield answer(together)
    if may_draw(plan) and not seeded_by_rank(plan):
        for module, node in collated_draws(plan):
            yield warning(module, node, ", in the function that makes batches of its samples")


def within_models(plan: Plan, found: list[CommonDraw]) -> Iterator[Remark]:
    """The notes on draws within models, whose numbers differ from process to process."""
    seen: set[int] = set()
    for draw in found:
        event = draw.event
        if not draw.in_model or id(event.node) in seen:
            continue
        # Split calls vary the numbers of the framework alone.
        if plan.way == "calls" and draw.source != "torch":
            continue
        seen.add(id(event.node))
        if draw.chooses:
            yield Remark.warn(
                "PT741",
                event,
                f"'{event.module.source.code(event.node)}' says what the model does with a whole "
                "batch, and each process draws its own for its share",
                "draw it where the model is called, and give it to the model",
            )
            continue
        yield Remark.note(
            "PT741",
            event,
            "each process draws this for its own samples, as it does for dropout; one process "
            "draws it once for the whole batch",
        )


def answer(together: Together) -> Answer:
    """What is done about the draws of one place."""
    event = together.draws[0].event
    module, statement, node = together.module, together.statement, together.node
    if node is None and statement is None:
        return warning(event.module, event.node, together.because)
    why = "one process draws this once for the whole batch"
    claimed = node or statement
    assert claimed is not None
    data = Agreement(module, statement, node)
    return Ruling.apply("PT739", (module, claimed), why, data=data)


def warning(module: Module, node: cst.CSTNode, where: str) -> Remark:
    """What is said of a draw that the processes cannot make together."""
    return Remark.warn(
        "PT740",
        (module, node),
        f"'{module.source.code(node)}' is drawn once for a whole batch, and each process draws its "
        f"own for its share{where}",
        ADVICE,
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The draw of rank 0, or the statement under its random state."""
    agreement: Agreement = ruling.data
    module = agreement.module
    helper = "shared_randomness" if agreement.node is None else "from_main_process"
    yield Helper(helper, module)
    name = plan.names_in(module).fresh(helper)
    if agreement.node is not None:
        for edit in wrap_expression(module.source, agreement.node, f"{name}(", ")"):
            yield In(module, edit)
        return
    assert agreement.statement is not None
    statement = agreement.statement
    for edit in guard(module.source, statement, statement, f"with {name}():", order=20):
        yield In(module, edit)
