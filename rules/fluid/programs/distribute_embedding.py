"""Keep the large embedding table on the parameter servers, where the user asks for it.

What:
    With ``--distributed-embedding`` large embeddings are looked up and updated on the servers when
    a launcher has started the script, and their gradients are sparse. Which are large is said in
    notes; tables that are known to be small stay as they are.

    Fluid 1.8 leaves sparse tables on the servers without their being declared distributed. The
    transpiler of 1.8.5 finds no lookup of a table that is declared, and stops with an IndexError,
    so that the declaration is left to older versions.

Why:
    A table of very many ids does not fit into the memory of a trainer, and sending all of it at
    every step would take most of the time.

Before:
    emb = fluid.layers.embedding(input=word, size=[10000000, 64])

After:
    emb = fluid.layers.embedding(
        input=word, size=[10000000, 64], is_sparse=True, is_distributed=has_remote_table()
    )

Refuses when:
    no table is large; the optimizer is another than SGD or Adagrad: the transpiler of older
    versions silently takes SGD for a declared table, so that Adagrad's is not declared, and other
    optimizers update the rows of a sparse table in another way; the script evaluates or saves
    parameters on a trainer, which does not hold the table.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/advanced_guide/distributed_training/cluster_howto_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Sequence, only_constant
from transpile.layout import add_argument, replace_argument_value
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of

CODES = {
    "FL801": "this embedding is kept on the parameter servers",
    "FL802": "no embedding can be kept on the parameter servers",
    "FL803": "this embedding stays as it is",
    "FL804": "gradients of a table are added up",
    "FL805": "several tables are kept on the parameter servers",
}
TABLE = "paddle.fluid.layers.embedding"
#: Its spelling from 1.6 on, for ids without a last dimension of one.
NEWER = "paddle.fluid.embedding"
#: What saves the parameters that a trainer holds.
SAVES = frozenset(
    {"paddle.fluid.io.save_params", "paddle.fluid.io.save_vars", "paddle.fluid.save",
     "paddle.fluid.io.save_inference_model"}
)  # fmt: skip
#: Optimizers that update the rows of a table on servers as one process does (seen with 1.8.5).
EXACT = frozenset({"paddle.fluid.optimizer.SGD", "paddle.fluid.optimizer.Adagrad"})
#: Numbers in a table from which on it counts as large.
LARGE = 1_000_000
PARAMETERS = ("input", "size", "is_sparse", "is_distributed", "padding_idx", "param_attr", "dtype")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each table that is kept on the servers."""
    roles = roles_of(plan)
    if not plan.options.distributed_embedding or not roles.minimizes:
        return
    tables: list[Event] = []
    for event in plan.facts.reached_calls:
        if names_of(event) & {TABLE, NEWER}:
            if all(event.node is not other.node for other in tables):
                tables.append(event)
    done = [event for event in tables if is_distributed(event)]
    done = done or [event for event in tables if roles.transpiles and is_sparse(event)]
    if done:
        yield Ruling.done("FL801", done[0], "this embedding is distributed already")
        return
    large = []
    for event in tables:
        numbers = size_of(event)
        if numbers is not None and numbers < LARGE:
            yield Remark.note(
                "FL803",
                event,
                f"this embedding stays with the trainers: its table has {numbers} numbers",
            )
        else:
            large.append(event)
    yield from chosen(plan, large)


def chosen(plan: Plan, large: list[Event]) -> Iterator[Answer]:
    """The answers about the large tables, or why there are none."""
    minimize = roles_of(plan).minimizes[0]
    names = called_names(minimize.optimizer)
    if not large:
        place, why = minimize.event, "no embedding of the script is large"
    elif (whole := needs_table(plan)) is not None:
        place, why = whole, "this needs the whole table, which no trainer holds then"
    elif set(names) - EXACT or not names:
        place = minimize.event
        why = (
            "the servers would update the rows of the table in another way than one process (seen "
            "with Fluid 1.8), or with SGD instead of the script's optimizer"
        )
    else:
        for table in large:
            yield from kept(plan, table)
        if len(large) > 1 and declares(plan):
            yield Remark.warn(
                "FL805",
                large[1],
                "Fluid before 1.8 keeps one table on the servers, and stops where there are two",
                "run it with Fluid 1.8, or leave is_sparse and is_distributed to one of them",
            )
        return
    yield Ruling.refuse("FL802", place, why, "convert without --distributed-embedding")


def kept(plan: Plan, table: Event) -> Iterator[Answer]:
    """The answers about a table that is kept on the servers."""
    message = "this embedding is kept on the parameter servers"
    yield Ruling.apply("FL801", table, message)
    size = size_of(table)
    numbers = "of a size that is not known here" if size is None else f"of {size} numbers"
    yield Remark.note("FL801", table, f"{message}: a table {numbers}")
    if not declares(plan):
        yield Remark.note(
            "FL801",
            table,
            "Fluid before 1.8 leaves this table with the trainers: there, declared tables are "
            "updated with SGD",
        )
    elif not plan.options.async_mode:
        yield Remark.warn(
            "FL804",
            table,
            "synchronous servers of Fluid before 1.8 add the trainers' gradients of this table up "
            "instead of averaging them",
            "run it with Fluid 1.8, or divide the table's learning rate by the number of trainers",
        )


def declares(plan: Plan) -> bool:
    """Whether tables are declared distributed to older versions, which update those with SGD."""
    names = called_names(roles_of(plan).minimizes[0].optimizer)
    return set(names) == {"paddle.fluid.optimizer.SGD"}


def needs_table(plan: Plan) -> Event | None:
    """What a trainer does that it needs the whole table for; None where there is nothing."""
    roles = roles_of(plan)
    own = {id(run.event) for run in (*roles.training, *roles.starts)}
    others: list[Event] = [run.event for run in roles.runs if id(run.event) not in own]
    if others:
        return others[0]
    for event in plan.facts.reached_calls:
        if names_of(event) & SAVES:
            return event
        if "paddle.fluid.io.save_persistables" in names_of(event):
            program = event.arguments.get("main_program", 2)
            if program is None or program.values == (Constant(None),):
                # Only of a program that is named does it fetch from the servers.
                return event
    return None


def is_distributed(event: Event) -> bool:
    """Whether a table is distributed already, always or when a launcher has started the script."""
    given = event.arguments.get("is_distributed", 3)
    return given is not None and given.values != (Constant(False),)


def is_sparse(event: Event) -> bool:
    """Whether the gradients of a table are sparse, so that Fluid 1.8 leaves it on the servers."""
    given = event.arguments.get("is_sparse", 2)
    return given is not None and given.values == (Constant(True),)


def size_of(event: Event) -> int | None:
    """How many numbers a table has; None where that is not known."""
    given = event.arguments.get("size", 1)
    if given is None or len(given.values) != 1 or not isinstance(given.values[0], Sequence):
        return None
    product = 1
    for values in given.values[0].elements:
        constant = only_constant(values)
        if constant is None or not isinstance(constant.value, int):
            return None
        product *= constant.value
    return product


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The two arguments."""
    call = ruling.node
    assert isinstance(call, cst.Call)
    source = ruling.module.source
    given = [("is_sparse", "True")]
    if declares(plan):
        yield Helper("has_remote_table", ruling.module)
        remote = plan.names_in(ruling.module).fresh("has_remote_table")
        given.append(("is_distributed", f"{remote}()"))
    for name, value in given:
        written = written_argument(call, name)
        if written is None:
            for edit in add_argument(source, call, f"{name}={value}", PARAMETERS.index(name)):
                yield In(ruling.module, edit)
        else:
            for edit in replace_argument_value(source, call, written, value):
                yield In(ruling.module, edit)


def written_argument(call: cst.Call, name: str) -> cst.Arg | None:
    """An argument as it is written, by keyword or by position."""
    for position, argument in enumerate(call.args):
        if argument.keyword is not None:
            if argument.keyword.value == name:
                return argument
        elif position == PARAMETERS.index(name):
            return argument
    return None
