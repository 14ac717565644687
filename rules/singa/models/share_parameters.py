"""Start with the same parameters everywhere.

What:
    After ``compile``, which makes the parameters, all processes take those of rank 0. A script that
    seeds its device before needs nothing: then all draw the same ones.

Why:
    ``compile`` sends nothing to other processes, and only gradients are averaged later: models that
    begin apart stay apart.

Before:
    model.compile([tx], is_train=True, use_graph=True)

After:
    model.compile([tx], is_train=True, use_graph=True)
    share_parameters(model)

Refuses when:
    parameters are drawn without a seed where no ``compile`` says when they are all there.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.layout import insert_after
from transpile.plan.flow.places import insertion_place
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa._roles import compiles, names_of
from transpile.rules.singa.data._seeds import device_seed, draws_on
from transpile.rules.singa.gradients.share_optimizer import is_shared

CODES = {
    "SG231": "all processes begin with the same parameters",
    "SG232": "parameters would differ from process to process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes parameters."""
    seed = device_seed(plan)
    made = {id(event.node): event for event in compiles(plan)}
    for event in made.values():
        seeded = seed is not None and seed.order < event.order
        statement = owner_statement(event)
        if not seeded and statement is None:
            yield refusal(event, "compile stands inside of another expression")
            continue
        yield Ruling.apply(
            "SG231",
            event,
            (
                "all processes draw the same parameters"
                if seeded
                else "all processes take the parameters of rank 0"
            ),
            data=statement,
            done=seeded or is_shared(plan),
        )
    if not made and seed is None and not is_shared(plan):
        for event in plan.facts.reached_calls:
            if draws_on(event) or makes_layer(event):
                yield refusal(event, "no compile says when all parameters are there")
                break


def makes_layer(event: Event) -> bool:
    """Whether a call makes a layer that draws its parameters."""
    words = ("Linear", "Conv2d", "SeparableConv2d", "Gemm", "Embedding", "RNN", "LSTM")
    return any(name in {f"singa.layer.{word}" for word in words} for name in names_of(event))


def refusal(event: Event, why: str) -> Ruling:
    """The refusal of parameters that differ."""
    return Ruling.refuse(
        "SG232",
        event,
        f"parameters are drawn without a seed, and {why}: they would differ from process to "
        "process",
        "call dev.SetRandSeed(0) before the model is made",
    )


def owner_statement(event: Event) -> cst.CSTNode | None:
    """The statement that is the call and nothing else."""
    parent = event.module.source.parent(event.node)
    if not isinstance(parent, cst.Expr):
        return None
    return insertion_place(event.module, event.node)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper's call behind ``compile``."""
    call = ruling.node
    assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    yield Helper("share_parameters", ruling.module)
    source = ruling.module.source
    name = plan.names_in(ruling.module).fresh("share_parameters")
    line = f"{name}({source.code(call.func.value)})"
    for edit in insert_after(source, ruling.data, [line]):
        yield In(ruling.module, edit)
