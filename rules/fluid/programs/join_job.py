"""Look at what the launcher says once, where the process starts.

What:
    Calls a helper at the start of the process, which checks the role and the number of trainers in
    the environment. Where the script draws random numbers for its batches without a seed of its
    own, all trainers are given one.

Why:
    A process that is started wrongly would train a model of its own. Each trainer takes its share
    of every batch: with different orders the shares would overlap, and samples be left out.

Before:
    if __name__ == "__main__":
        main()

After:
    if __name__ == "__main__":
        setup_distributed()
        agree_on_order()
        main()

Refuses when:
    never.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/advanced_guide/distributed_training/cluster_howto_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.layout import insert_before
from transpile.layout.imports import last_import
from transpile.layout.lines import Statement
from transpile.layout.statements import body_statements
from transpile.plan.flow import entering
from transpile.plan.flow.start import is_main_guard
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of

CODES = {
    "FL111": "the launcher's environment is checked here",
    "FL115": "every process downloads",
}
SHUFFLES = frozenset({"paddle.fluid.io.shuffle"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer: where to check, and whether to agree on the order."""
    roles = roles_of(plan)
    if roles.transpiles:
        event = roles.transpiles[0]
        yield Ruling.done("FL111", event, "the script looks at the launcher's environment itself")
        return
    if not roles.minimizes:
        return
    statement = beginning(plan)
    if statement is None:
        return
    yield Ruling.apply(
        "FL111",
        (plan.entry, statement),
        "the launcher's environment is checked here",
        data=(statement, agreement(plan)),
    )
    downloading = next((event for event in plan.facts.reached_calls if downloads(event)), None)
    if downloading is not None:
        yield Remark.note(
            "FL115",
            downloading,
            "every trainer and server of a machine fetches this data set where it is not there yet",
            "run the script once as one process before the job, or fetch the data beforehand",
        )


def downloads(event: Event) -> bool:
    """Whether an event may fetch a data set."""
    return any(name.startswith("paddle.dataset.") for name in names_of(event))


def agreement(plan: Plan) -> str:
    """The helper that makes the trainers agree; empty where nothing is drawn without a seed."""
    drawn: set[str] = set()
    seeded: set[str] = set()
    for event in plan.facts.reached_calls:
        for name in names_of(event):
            if name in ("random.seed", "numpy.random.seed"):
                seeded.add(name.rpartition(".")[0])
            elif name in SHUFFLES or name.startswith("random."):
                drawn.add("random")
            elif name.startswith("numpy.random.") and name != "numpy.random.RandomState":
                drawn.add("numpy.random")
    if "numpy.random" in drawn - seeded:
        return "agree_on_order_with_numpy"
    return "agree_on_order" if "random" in drawn - seeded else ""


def beginning(plan: Plan) -> Statement | None:
    """The first statement behind the imports, and behind the helpers then, that does something."""
    statements = list(plan.entry.source.tree.body)
    last = last_import(plan.entry.source)
    behind = next((i + 1 for i, each in enumerate(statements) if each is last), 0)
    for statement in statements[behind:]:
        if isinstance(statement, cst.If) and is_main_guard(statement):
            return body_statements(statement)[0]
        if not is_preliminary(statement):
            return statement
    return None


def is_preliminary(statement: cst.CSTNode) -> bool:
    """Imports, tried ones too, definitions, docstrings and constants: nothing happens in them."""
    if isinstance(statement, cst.Try):
        return all(is_preliminary(inner) for inner in statement.body.body)
    found: bool = entering.is_preliminary(statement)
    return found


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The calls of the helpers."""
    statement, agree = ruling.data
    lines = []
    for helper in ("setup_distributed", agree):
        if helper:
            yield Helper(helper, plan.entry)
            lines.append(f"{plan.names_in(plan.entry).fresh(helper)}()")
    for edit in insert_before(plan.entry.source, statement, lines, order=-20):
        yield In(plan.entry, edit)
