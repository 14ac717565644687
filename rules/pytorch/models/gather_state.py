"""Write whole states of a sharded model, and load whole states into shards.

What:
    With ``--strategy fsdp`` the states of the model and of its optimizer are gathered by all
    processes before rank 0 writes them, with the keys and the shapes that they have in one
    process. A state that is loaded into the optimizer, or into the model behind it, is cut into
    shards, and the norm that
    ``clip_grad_norm_`` returns is that of all gradients.

Why:
    Each process has a part of every tensor: a checkpoint of one's own parts would be no use to the
    script, nor to anybody else. Gathering needs every process, so it stands outside of what rank 0
    does alone.

Before:
    torch.save(model.state_dict(), "model.pt")

After:
    state_dict_result = gathered(model.state_dict())
    if is_main_process():
        torch.save(state_dict_result, "model.pt")

Refuses when:
    a state is used for something other than to be written.

Source:
    https://pytorch.org/docs/stable/distributed.tensor.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.models._whole_states import Place, places

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT345": "a state of a sharded model is whole where it leaves the script",
    "PT346": "a state of a sharded model is used for something else than to be written",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each state that is taken or loaded, where models are to be sharded."""
    for place in places(plan):
        if place.used is not None:
            yield Ruling.refuse(
                "PT346",
                place.used,
                "this uses a state of which rank 0 alone has the whole",
                "use --strategy ddp",
            )
            continue
        yield Ruling.apply("PT345", place, "what is sharded is whole here", data=place)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression within the helper."""
    place: Place = ruling.data
    yield Helper(place.helper, place.module)
    name = plan.names_in(place.module).fresh(place.helper)
    after = f", {place.receiver})" if place.receiver else ")"
    for edit in wrap_expression(place.module.source, place.node, f"{name}(", after):
        yield In(place.module, edit)
