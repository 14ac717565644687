"""Find numbers of one process's share that are reported as if of all data.

What:
    What is printed, logged or tracked and was computed from a loader with a distributed sampler,
    without being taken over all processes on the way. The numbers of training are a note, one for
    the script: they are those of one process's batches.

Why:
    Each process has evaluated a part. The accuracy that rank 0 prints is that of its part, and with
    it the best checkpoint is chosen.

Before:
    print(correct / total)

After:
    counts = torch.tensor([correct, total], device=device)
    dist.all_reduce(counts)
    print((counts[0] / counts[1]).item())

Refuses when:
    never: an evaluation is a warning, training is a note.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Settled,
    Value,
    Values,
    WorldSize,
)
from transpile.plan.effects.effects import Effect
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.models.parts import walk_parts
from transpile.rule import Remark
from transpile.rules.pytorch.agreement._together import AGREEING, agreed_values, agreeing_calls
from transpile.rules.pytorch.audit._data import Sharing, engines, loaders_of, without_gradients
from transpile.rules.pytorch.audit._hand_made import cut_by_hand
from transpile.rules.pytorch.audit._losses import reduction_of, set_of_forwards
from transpile.rules.pytorch.audit._reported import (
    contents,
    is_heard_once,
    parts_of,
    reports,
    with_contents,
)
from transpile.rules.pytorch.audit._splits import splits_calls

CODES = {
    "AU601": "a number of one process's share is reported as that of all data",
    "AU602": "the training numbers that are reported are those of one process",
}
ONLY_WARNS = True
#: Collectives whose result is whole on one process at least.
GATHERING = ("torch.distributed.reduce", "torch.distributed.gather")
#: Packages whose numbers are taken over all processes by themselves.
REDUCING = ("torchmetrics.", "torcheval.", "evaluate.", "ignite.")
#: Functions of trackers that keep models, files, and pictures or sounds of single samples.
KEEPING = frozenset(
    {
        "save_model", "log_model", "log_artifact", "log_artifacts", "watch", "add_image",
        "add_images", "add_figure", "add_video", "add_audio", "add_mesh", "log_image", "log_figure",
    }
)  # fmt: skip
#: Functions that read what a process has written.
READING = (
    "pickle.load", "torch.load", "json.load", "numpy.load", "joblib.load", "pandas.read_csv",
)  # fmt: skip
#: What says how large a result is, not what it is.
SIZES = frozenset({"len", "shape", "size", "dim", "ndim", "numel", "dtype", "device"})


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each report of an evaluation, and one for those of training."""
    if engines(audit) or splits_calls(audit):
        return
    parts = cut_by_hand(audit)
    loaded = shared_out(audit, training=True)
    trained = loaded | parts.trained | losses_of(audit, loaded)
    # Where no step is seen, nobody can tell which loader is for training.
    evaluated = shared_out(audit, training=False) | parts.evaluated if trained else frozenset()
    cut = trained - loaded | parts.evaluated
    if not trained:
        return
    agreed = agreed_values(audit.plan) | gathered(audit)
    calls = agreeing_calls(audit.plan)
    ranks = Ranks(audit.vocabulary)

    def enters(value: Value) -> bool:
        if id(value) in agreed or isinstance(value, Instance):
            return False
        if isinstance(value, Opaque):
            if id(value.node) in calls or value.name in SIZES:
                return False
            if any(getattr(callee, "name", "") in SIZES for callee in value.callee):
                return False
            return not any(name.startswith(REDUCING) for name in called_names(value))
        return True

    stored = contents(audit)
    forwards = set_of_forwards(audit)
    kept = models_keep_batches(audit)
    trained_at: Event | None = None
    for effect in reports(audit):
        if not audit.makes(effect.node)[0] or keeps_model(effect):
            continue
        by_one = is_heard_once(audit, effect)
        for event, values in pieces(effect, ranks):
            near = with_contents(values, stored, lambda v: id(v) not in forwards and enters(v))
            if any(id(value) in agreed for value in near):
                # On some way it is taken over all processes, which a flag of the job decides.
                continue
            made_of = with_contents(values, stored, enters)
            sources = [value for value in made_of if is_batch(value) or id(value) in cut]
            if by_one and trained_at is None and any(is_part(v, trained) for v in sources):
                trained_at = event
            # Of what a model keeps of its last call nobody knows which call that was.
            both = kept and any(is_part(value, trained) for value in sources)
            if not both and any(is_part(value, evaluated) for value in sources):
                yield Remark.warn(
                    "AU601",
                    effect,
                    "what is reported here was computed on this process's share of the data alone",
                    "all-reduce sums and counts over the processes before dividing",
                )
                break
    if trained_at is not None:
        yield Remark.note(
            "AU602",
            trained_at,
            "the training numbers that are reported here are those of one process's batches alone",
            "all-reduce sums and counts where they are reported, if those of all are meant",
        )


def keeps_model(effect: Effect) -> bool:
    """Whether a tracker is given a model, a file or a picture to keep, and no number."""
    return effect.word.removesuffix("()").rpartition(".")[2] in KEEPING


def pieces(effect: Effect, ranks: Ranks) -> Iterator[tuple[Event, Values]]:
    """The numbers that are reported, each by itself, unless it is said which process reports."""
    for event in effect.events:
        if not ranks.show(tuple(v for item in event.arguments.items for v in item.values)):
            for values in parts_of(event):
                yield event, values


def shared_out(audit: Audit, *, training: bool) -> frozenset[int]:
    """The loaders, of training or of evaluation, that give each process its share."""
    loaders = loaders_of(audit)
    return frozenset(
        id(loader.value)
        for loader in audit.plan.loaders
        if (loader.training and not without_gradients(audit, loader)) is training
        and (loaders.samplers(loader) or loaders.sharing(loader) is Sharing.SHARE)
        and not all(map(of_one, loaders.samplers(loader) or (None,)))
    )


def losses_of(audit: Audit, loaders: frozenset[int]) -> frozenset[int]:
    """The losses that models are trained on with the batches of some loaders.

    What a model does with a batch may not be followed to where its loss is computed.
    """
    return frozenset(
        id(value)
        for backward in audit.plan.backwards
        if backward.loaders and all(id(loader.value) in loaders for loader in backward.loaders)
        for value in walk_back(backward.loss)
        if reduction_of(value) is not None
    )


def models_keep_batches(audit: Audit) -> bool:
    """Whether a part of a model has an attribute that its calls make of a batch."""
    return any(
        is_batch(one)
        for model in audit.plan.models
        for part in walk_parts(model.value)
        if isinstance(part, Instance)
        for values in part.attributes.values()
        for one in walk_back(values, lambda value: not isinstance(value, Instance))
    )


def of_one(sampler: Opaque | None) -> bool:
    """Whether a sampler is told that there is one process: each of them gets all of the data."""
    told = sampler.arguments.get("num_replicas", 1) if sampler is not None else None
    return told is not None and told.values == (Constant(1),)


def gathered(audit: Audit) -> set[int]:
    """What collectives make whole on one process at least."""
    found: set[int] = set()
    for event in audit.facts.calls_to(*GATHERING, *AGREEING):
        for item in event.arguments.items[:1]:
            found.update(map(id, item.values))
            # A method that changes its tensor in place gives back that tensor.
            for value in item.values:
                for name, receiver in method_calls(value):
                    if name.endswith("_"):
                        found.update(map(id, receiver))
    for event in audit.facts.calls:
        if any(isinstance(c, External) and c.name in GATHERING for c in event.callee):
            found.update(map(id, event.result))
    for event in audit.facts.calls_to(*READING):
        if any(names_each_process(audit, item.values) for item in event.arguments.items[:1]):
            found.update(map(id, event.result))
    return found


def names_each_process(audit: Audit, values: Values) -> bool:
    """Whether a file is one of those that the processes have written, gone through by number."""
    sizes = [name for name, word in audit.vocabulary.calls.items() if word == "world_size"]
    for value in walk_back(values):
        if type(value) is Settled:
            # Of any process nothing is known but how many there are, and numbers up to that.
            return True
        if isinstance(value, Opaque) and value.kind == "element":
            for count in walk_back(value.operands[0]):
                if isinstance(count, WorldSize) or not set(sizes).isdisjoint(called_names(count)):
                    return True
    return False


def is_batch(value: Value) -> bool:
    """Whether a value is drawn from something that is gone over."""
    return isinstance(value, Opaque) and value.kind == "element"


def is_part(value: Value, loaders: frozenset[int]) -> bool:
    """Whether a value is a batch of one of some loaders, or cut out by a process for itself."""
    if id(value) in loaders:
        return True
    if not isinstance(value, Opaque) or value.kind != "element":
        return False
    sources: Values = value.operands[0]
    return any(id(source) in loaders for source in walk_back(sources, iterates))


def iterates(value: Value) -> bool:
    """Whether a value goes over what it is made of."""
    return isinstance(value, Opaque) and value.kind == "operation"
