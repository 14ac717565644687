"""Start the processes in the script itself.

What:
    With ``--singa-start multiprocess`` the script starts a process for each GPU of its machine, all
    with one ``NcclIdHolder``, waits for them, and ends with the worst of their exit statuses. With
    ``--singa-start mpi``, the default, ``mpiexec`` starts them, and nothing is added.

Why:
    On one machine no MPI is needed.

Before:
    if __name__ == "__main__":
        main()

After:
    if __name__ == "__main__":
        start_processes()
        main()

Refuses when:
    never.

Source:
    https://github.com/apache/singa/blob/master/examples/cnn/train_multiprocess.py
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import insert_after_imports, insert_at_start_of_body
from transpile.plan.flow.start import is_main_guard
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa.gradients.share_optimizer import is_shared

CODES = {"SG171": "the script starts a process for each GPU"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for the script."""
    if plan.options.singa_start != "multiprocess":
        return
    tree = plan.entry.source.tree
    guards = [node for node in tree.body if isinstance(node, cst.If) and is_main_guard(node)]
    yield Ruling.apply(
        "SG171",
        (plan.entry, guards[0] if guards else tree),
        "the script starts a process for each GPU",
        data=guards[0] if guards else None,
        done=is_shared(plan),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call that starts the processes, before anything else that the script does."""
    yield Helper("start_processes", plan.entry)
    line = f"{plan.names_in(plan.entry).fresh('start_processes')}()"
    source = plan.entry.source
    changes = (
        insert_at_start_of_body(source, ruling.data, [line], order=-20)
        if ruling.data is not None
        else insert_after_imports(source, line, order=10)
    )
    for edit in changes:
        yield In(plan.entry, edit)
