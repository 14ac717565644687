"""Send gradients in the form that was chosen.

What:
    With ``--dist-option`` other than ``fp32``, models are called with the form as ``dist_option``,
    and with ``--spars``, where their ``train_one_batch`` tells forms apart. Elsewhere the call of
    the optimizer becomes that of the method for the form. One process updates as before.

Why:
    Gradients may take longer to send than to compute.

Before:
    self.optimizer(loss)

After:
    update_together(self.optimizer, loss)

Refuses when:
    parameters are sent a part at a time (``partialUpdate``) while a graph is used, or the script
    updates with gradients by itself.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Function
from transpile.facts.walk import descendants
from transpile.finding import Level
from transpile.layout import add_argument, replace_expression
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.singa._roles import (
    backwards,
    called_models,
    compiles,
    constant_of,
    is_evaluation,
    method_of,
    model_calls,
    parameters_of,
    updates,
)
from transpile.rules.singa.gradients.share_optimizer import is_shared

CODES = {
    "SG161": "gradients travel in the form that was chosen",
    "SG162": "gradients cannot travel in the form that was chosen",
    "SG163": "the form that was chosen changes the training",
}
#: How scripts call the forms.
WORDS = {
    "fp16": ("fp16", "half"),
    "partialUpdate": ("partialUpdate",),
    "sparseTopK": ("sparseTopK",),
    "sparseThreshold": ("sparseThreshold",),
}
MEANT = {
    "fp16": "gradients are rounded to 16 bits before they are added up",
    "partialUpdate": "every process updates by itself, and one part of the parameters is averaged "
    "in each step: what rank 0 saves is its own",
    "sparseTopK": "only the largest gradients are sent in each step",
    "sparseThreshold": "only gradients above a threshold are sent in each step",
}


@dataclass(frozen=True, eq=False)
class Forms:
    """What a ``train_one_batch`` calls the form, and the parameters that it tells it by."""

    parameter: str
    word: str
    spars: str = ""


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that says how gradients travel."""
    chosen = plan.options.plain_dist_option
    if chosen == "fp32":
        return
    verdict = Verdict.ALREADY_DONE if is_shared(plan) else Verdict.APPLY
    yield Remark(
        "SG163",
        Level.NOTE if chosen == "fp16" else Level.WARNING,
        plan.entry,
        None,
        f"--dist-option {plan.options.dist_option}: {MEANT[chosen]}",
    )
    if verdict is Verdict.APPLY:
        yield from obstacles(plan, chosen)
    told: set[int] = set()
    for event in model_calls(plan):
        forms = forms_of(event, chosen)
        if forms is None or is_evaluation(event):
            continue
        for model in called_models(event):
            function = method_of(model, "train_one_batch")
            told.add(id(function.node) if function is not None else 0)
        yield Ruling("SG161", verdict, event.module, event.node, said(chosen), data=forms)
    for update in updates(plan):
        around = {id(frame.function.node) for frame in update.event.calls()}
        if not around & told and update.method in ("", "backward_and_update"):
            yield Ruling(
                "SG161", verdict, update.event.module, update.event.node, said(chosen), data=update
            )


def said(chosen: str) -> str:
    """What is done, in a sentence."""
    return f"gradients travel as {chosen}"


def obstacles(plan: Plan, chosen: str) -> Iterator[Ruling]:
    """What stands in the way of a form."""
    for event in backwards(plan):
        yield Ruling.refuse(
            "SG162",
            event,
            f"the script updates with gradients by itself, which travel as fp32, not as {chosen}",
            "call the optimizer with the loss",
        )
    if chosen != "partialUpdate":
        return
    for event in compiles(plan):
        graph = event.arguments.get("use_graph", 2)
        if graph is not None and constant_of(graph.values) is not False:
            yield Ruling.refuse(
                "SG162",
                event,
                "a graph repeats one step, but partialUpdate averages another part in each",
                "compile with use_graph=False",
            )


def forms_of(event: Event, chosen: str) -> Forms | None:
    """How the model that is called tells forms apart; None where it does not know this one."""
    for model in called_models(event):
        function = method_of(model, "train_one_batch")
        if function is not None:
            return forms_in(function, chosen)
    return None


def forms_in(function: Function, chosen: str) -> Forms | None:
    """See :func:`forms_of`."""
    names = {param.name.value for param in parameters_of(function)}
    spars = ""
    found: tuple[str, str] | None = None
    for node in descendants(function.node):
        if isinstance(node, cst.Comparison) and isinstance(node.left, cst.Name):
            for target in node.comparisons:
                text = target.comparator
                if isinstance(text, cst.SimpleString) and node.left.value in names:
                    word = text.evaluated_value
                    if word in WORDS[chosen]:
                        found = (node.left.value, str(word))
        if isinstance(node, cst.Arg) and node.keyword is not None:
            if node.keyword.value == "spars" and isinstance(node.value, cst.Name):
                spars = node.value.value if node.value.value in names else spars
    return Forms(*found, spars) if found is not None else None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The arguments of a model's call, or the method in the place of an optimizer's call."""
    call: Any = ruling.node
    module, source = ruling.module, ruling.module.source
    if isinstance(ruling.data, Forms):
        event = next(event for event in model_calls(plan) if event.node is call)
        forms = ruling.data
        wanted = {forms.parameter: repr(forms.word).replace("'", '"')}
        if forms.spars and forms.word.startswith("sparse"):
            wanted[forms.spars] = repr(plan.options.spars)
        for order, (name, value) in enumerate(wanted.items()):
            yield from argument(plan, event, name, value, order)
        return
    yield Helper("update_together", module)
    function, first = call.func, call.args[0]
    if isinstance(function, cst.Attribute) and function.attr.value == "backward_and_update":
        function = function.value
    name = plan.names_in(module).fresh("update_together")
    given = f"{source.code(function)}, {source.code(first.value)}"
    for edit in (
        *replace_expression(source, call.func, name),
        *replace_expression(source, first.value, given),
    ):
        yield In(module, edit)


def argument(plan: Plan, event: Event, name: str, value: str, order: int) -> Iterator[Change]:
    """One argument of the call of a model, which one process is given as before."""
    module, source = event.module, event.module.source
    function = next(
        found
        for model in called_models(event)
        if (found := method_of(model, "train_one_batch")) is not None
    )
    params = parameters_of(function)
    position = [param.name.value for param in params].index(name)
    given = event.arguments.get(name, position)
    default = params[position].default
    node: Any = given.node if given is not None else None
    if node is None:
        old = function.module.source.code(default) if default is not None else "None"
    else:
        old = source.code(node)
    yield Helper("get_world_size", module)
    text = f"{value} if {plan.names_in(module).fresh('get_world_size')}() > 1 else {old}"
    changes = (
        add_argument(source, event.node, f"{name}={text}", order=order)  # type: ignore[arg-type]
        if node is None
        else replace_expression(source, node, text)
    )
    for edit in changes:
        yield In(module, edit)
