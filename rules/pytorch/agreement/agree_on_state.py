"""Say where the state of a process would be its own although all should have the same.

What:
    Hashes of strings, models that are not wrapped and were made with random weights of each
    process's own, and random states that are restored while the processes have their own.

Why:
    No wrap and no seed reaches these: labels, targets and noise would differ silently, or be the
    same where they must not.

Before:
    bucket = hash(word) % 1000

After:
    bucket = zlib.crc32(word.encode()) % 1000

Refuses when:
    never: each of these is a warning.

Source:
    https://docs.python.org/3/reference/datamodel.html#object.__hash__,
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External, Instance, Opaque, Value
from transpile.plan.data.data_code import drawing_code
from transpile.plan.graph import called_names, is_instance_of, origin
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.models.parts import walk_parts
from transpile.plan.roles.surroundings import inside_module
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.agreement._unordered import all_numbers
from transpile.rules.pytorch.randomness._random_draws import Draws

CODES = {
    "PT734": "a hash differs from process to process",
    "PT735": "a model that is not wrapped has weights of each process's own",
    "PT736": "a restored random state makes the processes draw the same",
}
RANDOM_STATES = frozenset(
    {
        "torch.set_rng_state", "torch.random.set_rng_state", "torch.cuda.set_rng_state",
        "torch.cuda.set_rng_state_all", "random.setstate", "numpy.random.set_state",
    }
)  # fmt: skip
HASH = External("builtins.hash")
#: Layers without parameters; losses have none either.
WITHOUT_PARAMETERS = frozenset(
    {
        "ReLU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Dropout", "Flatten", "Identity",
        "MaxPool1d", "MaxPool2d", "AvgPool2d", "Upsample", "CosineSimilarity", "PairwiseDistance",
        "LeakyReLU", "GELU", "ELU", "Module",
    }
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """A remark for each of them."""
    if not any(not backward.event.detached for backward in plan.backwards):
        return
    draws = Draws(plan)
    yield from hashes(plan)
    yield from weights(plan, draws)
    yield from random_states(plan, draws)


def hashes(plan: Plan) -> Iterator[Answer]:
    """Hashes that are more than an object's own ``__hash__``."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) in seen or not is_hash(event):
            continue
        if event.detached and id(event.node) not in drawing_code(plan):
            continue
        seen.add(id(event.node))
        function = event.function()
        if function is not None and function.name == "__hash__":
            continue
        yield Remark.warn(
            "PT734",
            event,
            "the hash of a string differs from process to process",
            "take zlib.crc32 of its bytes",
        )


def is_hash(event: Event) -> bool:
    """Whether a call hashes something else than numbers, or gives ``hash`` to what calls it."""
    items = event.arguments.items
    if HASH in event.callee:
        return not (items and all_numbers(items[0].values))
    return any(HASH in item.values for item in items)


def weights(plan: Plan, draws: Draws) -> Iterator[Answer]:
    """Models that take part in training, are not wrapped, and were made with random weights."""
    wrapped = {id(part) for model in plan.trained_models for part in walk_parts(model.value)}
    seen: set[int] = set()
    for event in forwards(plan):
        for callee in event.callee:
            value = origin(callee)
            if not isinstance(value, (Instance, Opaque)) or id(value) in wrapped | seen:
                continue
            seen.add(id(value))
            if not has_parameters(plan, value) or copied(plan, value):
                continue
            made = next((e for e in plan.facts.events if e.node is value.node), None)
            if made is None or draws.equal(made, "torch"):
                continue
            yield Remark.warn(
                "PT735",
                made,
                "this model is made where each process has random numbers of its own, and it is "
                "not wrapped: its weights differ",
                "make it before the training loop, or load its weights from a file",
            )


def forwards(plan: Plan) -> Iterator[Event]:
    """The calls whose results losses depend on, outside of models."""
    reached = reached_by_losses(plan)
    for event in plan.facts.reached_calls:
        if any(id(value) in reached for value in event.result):
            if not inside_module(event.stack, plan.table):
                yield event


def has_parameters(plan: Plan, value: Value) -> bool:
    """Whether a value is a model that may have parameters."""
    if not is_instance_of(value, plan.table.module_bases) and not called_names(value):
        return False
    return any(
        name.startswith(("torch.nn.", "torchvision.models."))
        and not name.startswith(("torch.nn.functional.", "torch.nn.utils."))
        and not name.endswith("Loss")
        and name.rpartition(".")[2] not in WITHOUT_PARAMETERS
        for part in walk_parts(value)
        for name in called_names(part)
    )


def copied(plan: Plan, value: Value) -> bool:
    """Whether a model's weights come from elsewhere: loaded, or copied from another model."""
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.name in ("load_state_dict", "copy_"):
                if any(origin(v) is value for v in callee.operands[0]):
                    return True
    return any(name.startswith("copy.") for name in called_names(value))


def random_states(plan: Plan, draws: Draws) -> Iterator[Answer]:
    """Random states that are set where the processes have their own."""
    for event in plan.facts.places_called:
        if draws.is_late(event) and any(
            isinstance(c, External) and c.name in RANDOM_STATES for c in event.callee
        ):
            yield Remark.warn(
                "PT736",
                event,
                "every process takes up the random state of the one that saved it, and draws the "
                "same noise",
                "restore it on rank 0 only, or seed anew with the rank",
            )
