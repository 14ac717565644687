"""Where the script's random numbers come from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from transpile.facts.events import Branch, Event
from transpile.facts.values import External, Opaque
from transpile.plan.flow.entering import set_up_of
from transpile.plan.graph import called_names, given_by
from transpile.plan.model import Plan

SEEDING = {
    "paddle.seed": "paddle",
    "numpy.random.seed": "numpy",
    "random.seed": "random",
}
#: What differs from process to process, whatever was seeded.
CHANCE = ("time.", "os.urandom", "os.getpid", "uuid.", "secrets.", "datetime.", "random.")
#: Draws whose outcome the processes must agree on, to what they draw from.
DRAWS = {
    "paddle.io.random_split": "paddle",
    "paddle.rand": "paddle",
    "paddle.normal": "paddle",
    "paddle.uniform": "paddle",
    "paddle.standard_normal": "paddle",
    "paddle.bernoulli": "paddle",
    "paddle.multinomial": "paddle",
    "paddle.poisson": "paddle",
    "paddle.gaussian": "paddle",
    "paddle.log_normal": "paddle",
    "paddle.binomial": "paddle",
    "paddle.standard_gamma": "paddle",
    "sklearn.model_selection.": "numpy",
    "numpy.random.": "numpy",
    "random.": "random",
}
#: Random numbers that each process is to draw for itself in training.
NOISE = (
    "paddle.nn.Dropout", "paddle.nn.AlphaDropout", "paddle.nn.functional.dropout",
    "paddle.nn.functional.alpha_dropout", "paddle.vision.transforms.Random",
    "paddle.vision.transforms.ColorJitter", "paddle.vision.models.", "paddle.nn.Transformer",
    "paddle.nn.MultiHeadAttention",
)  # fmt: skip
#: What is noise only where it is drawn in training, or for a sample.
DRAWN = (
    "paddle.rand", "paddle.normal", "paddle.uniform", "paddle.standard_normal",
    "paddle.bernoulli", "paddle.multinomial", "paddle.poisson", "paddle.gaussian",
    "paddle.log_normal", "paddle.binomial", "paddle.standard_gamma", "numpy.random.", "random.",
)  # fmt: skip


class Sharing(Enum):
    """Whether the processes must be given one random state at their start."""

    NEEDED = "needed"
    NOT_NEEDED = "not needed"


#: Generators of their own, which nothing else draws from.
GENERATORS = frozenset({"numpy.random.RandomState", "numpy.random.default_rng", "random.Random"})


def names_of(event: Event) -> list[str]:
    """The dotted names that an event calls, but for makers of generators."""
    return [
        callee.name
        for callee in event.callee
        if isinstance(callee, External) and callee.name not in GENERATORS
    ]


def imports_random(plan: Plan) -> bool:
    """Whether the script or its project imports the standard library's random numbers."""
    return any(
        event.kind == "import" and event.name.split(".")[0] == "random"
        for event in plan.facts.events
    )


def seeded(plan: Plan) -> set[str]:
    """What is seeded with the same number in every process, whatever way the script takes."""
    found: set[str] = set()
    for event in plan.facts.reached_calls:
        for name in names_of(event):
            if name in SEEDING and not given_by(event, CHANCE):
                if not any(isinstance(frame, Branch) for frame in event.stack):
                    found.add(SEEDING[name])
    return found


def sharing_of(plan: Plan) -> Sharing:
    """Whether something is drawn by chance, unseeded, that the processes must agree on."""
    known = seeded(plan)
    if plan.way == "calls":
        # All processes draw the same batches and noise, so that every generator counts.
        wanted = {"paddle", "numpy", *["random"] * imports_random(plan)}
        return Sharing.NOT_NEEDED if wanted <= known else Sharing.NEEDED
    set_up = set_up_of(plan)
    for event in plan.facts.reached_calls:
        if plan.in_training(event.stack):
            continue
        if set_up is not None and set_up.after(event):
            continue
        for name in names_of(event):
            if name in SEEDING:
                continue
            for prefix, source in DRAWS.items():
                if name.startswith(prefix) and source not in known:
                    return Sharing.NEEDED
    return Sharing.NOT_NEEDED


def needs_agreement(plan: Plan) -> Iterator[Event]:
    """What the processes must have joined for: random numbers to agree on, files to fetch once."""
    from transpile.rules.paddle.effects._once import VOCABULARY

    known = seeded(plan)
    for event in plan.facts.reached_calls:
        if plan.in_training(event.stack):
            continue
        for name in names_of(event):
            drawn = next((DRAWS[prefix] for prefix in DRAWS if name.startswith(prefix)), "")
            if (drawn and drawn not in known and name not in SEEDING) or (
                name in VOCABULARY.downloads
            ):
                yield event
                break


def draws_noise(plan: Plan) -> bool:
    """Whether training draws random numbers that each process should draw for itself."""
    for event in plan.facts.events:
        names = [name for name in names_of(event) if name not in SEEDING]
        if event.kind != "call":
            continue
        if any(name.startswith(NOISE) for name in names):
            return True
        if event.detached or plan.in_training(event.stack):
            if any(name.startswith(DRAWN) for name in names):
                return True
    return any(
        isinstance(model.value, Opaque)
        and not any(name.startswith("paddle.nn.") for name in called_names(model.value))
        for model in plan.trained_models
    )
