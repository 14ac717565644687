"""Refuse optimizers that step within the backward pass.

What:
    A hook on a parameter, a tensor or a layer that calls the ``step()`` of an optimizer, or that
    changes a parameter or drops its gradient when that is complete, is an error.

Why:
    DistributedDataParallel averages gradients in hooks of its own. One that steps comes before:
    each process updates its copy of the model by the gradient of its own share of the batch, and
    the copies diverge without a word.

Before:
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)

After:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

Refuses when:
    a hook of the backward pass steps an optimizer, changes a parameter or drops a gradient.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    ("gradient hooks"); https://pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Call, Event
from transpile.facts.values import Opaque
from transpile.plan.model import Plan
from transpile.plan.models.noise import changes
from transpile.rule import Answer, Ruling

CODES = {"PT412": "an optimizer steps within the backward pass"}

#: What takes a hook that runs while the gradients come in.
HOOKS = frozenset(
    {
        "register_post_accumulate_grad_hook", "register_hook", "register_full_backward_hook",
        "register_backward_hook", "register_full_backward_pre_hook",
        "register_multi_grad_hook",
    }
)  # fmt: skip
#: Hooks that are given the parameter itself, its gradient complete.
COMPLETE = "register_post_accumulate_grad_hook"


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that installs such a hook."""
    installed: dict[int, tuple[Event, bool]] = {}
    for event in plan.facts.calls:
        names = {
            callee.name.rpartition(".")[2] for callee in event.callee if hasattr(callee, "name")
        }
        if names & HOOKS:
            installed[id(event.node)] = (event, COMPLETE in names)
    if not installed:
        return
    seen: set[int] = set()
    for event in plan.facts.events:
        for frame in event.stack:
            if not isinstance(frame, Call) or frame.node is None or id(frame.node) in seen:
                continue
            hook, complete = installed.get(id(frame.node), (None, False))
            if hook is not None and (steps(plan, event) or (complete and updates(plan, event))):
                seen.add(id(frame.node))
                yield refusal(hook)


def steps(plan: Plan, event: Event) -> bool:
    """Whether something calls a method that updates parameters."""
    return event.kind == "call" and any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name in plan.table.step_methods
        for callee in event.callee
    )


def updates(plan: Plan, event: Event) -> bool:
    """Whether something changes the parameter that a hook is given, or drops its gradient."""
    if event.kind == "store" and event.name == "grad":
        return True
    return any(
        isinstance(value, Opaque) and value.kind == "parameter"
        for target, _, _ in changes(plan, event)
        for value in target
    )


def refusal(event: Event) -> Ruling:
    """What is said of one place."""
    return Ruling.refuse(
        "PT412",
        event,
        "this hook updates parameters within the backward pass, before their gradients are "
        "averaged over the processes: each process would train a model of its own",
        "step the optimizer behind backward(), where the gradients are those of all processes",
    )
