"""PyTorch's words for what the arithmetic of training counts."""

from __future__ import annotations

from transpile.arithmetic.formula import (
    Formula,
    add,
    number,
)
from transpile.arithmetic.reading import Reader
from transpile.arithmetic.vocabulary import Drawing, Parameter, Vocabulary
from transpile.evaluation import Shared
from transpile.facts.values import Arguments, Constant, Opaque, Sequence, Values
from transpile.plan.data.sources import constant_of
from transpile.plan.graph import called_names
from transpile.plan.model import Loader, Plan
from transpile.rule import Rulings
from transpile.rules.pytorch.data._loaders import is_distributed_sampler, is_iterable_dataset
from transpile.rules.pytorch.gradients.scale_learning_rate import DEFAULT_RATES
from transpile.rules.pytorch.losses._evaluation import evaluations

DATA = "torch.utils.data."
#: Data sets of torchvision to their lengths, for training and not, as their papers and pages say.
TRAIN_AND_TEST = {
    "MNIST": (60000, 10000), "FashionMNIST": (60000, 10000), "KMNIST": (60000, 10000),
    "CIFAR10": (50000, 10000), "CIFAR100": (50000, 10000),
    "USPS": (7291, 2007),
}  # fmt: skip
BY_SPLIT = {
    "SVHN": {"train": 73257, "test": 26032, "extra": 531131},
    "STL10": {"train": 5000, "test": 8000, "unlabeled": 100000, "train+unlabeled": 105000},
}


def drawing(plan: Plan, rulings: Rulings, loader: Loader, reader: Reader) -> Drawing | None:
    """How a ``DataLoader`` draws its batches."""
    if loader.event.arguments.unknown_because:
        return None
    dataset, batch_sampler = loader.argument("dataset"), loader.argument("batch_sampler")
    if dataset is None:
        return None
    if batch_sampler is not None and not is_none(batch_sampler.values):
        return batches_of_sampler(batch_sampler.values, reader, training=loader.training)
    size = loader.argument("batch_size")
    if size is not None and is_none(size.values):
        return None
    batch = reader.argument(size, number(1, "1 is the batch size where none is given"))
    assert batch is not None
    drops = constant_of(loader.argument("drop_last"), False)
    drop_last = bool(drops) if drops is not ... else None
    sampler = loader.argument("sampler")
    if sampler is not None and not is_none(sampler.values):
        samples = reader.length(sampler.values, sampler.node)
        sharing = "cut" if drops is True else "padded"
        if is_distributed_sampler(sampler.values):
            samples = reader.length(dataset.values, dataset.node)
    elif is_iterable_dataset(dataset.values):
        samples, sharing = reader.length(dataset.values, dataset.node), "cut"
    else:
        samples = reader.length(dataset.values, dataset.node)
        sharing = "cut" if drop_last else "padded"
    in_blocks = not loader.training and shared_out(plan, loader)
    return Drawing(
        samples, batch, drop_last, sharing if loader.training else "", in_blocks=in_blocks
    )


def shared_out(plan: Plan, loader: Loader) -> bool:
    """Whether ``--eval shard`` shards every loop that goes over a loader."""
    shared = {id(found.loop) for found in evaluations(plan) if isinstance(found, Shared)}
    return bool(loader.iterations) and all(
        id(event.node) in shared for event in loader.iterations if not event.detached
    )


def is_none(values: Values) -> bool:
    """Whether an argument is None."""
    return len(values) == 1 and isinstance(values[0], Constant) and values[0].value is None


def batches_of_sampler(values: Values, reader: Reader, *, training: bool) -> Drawing | None:
    """How a loader with a ``BatchSampler`` draws."""
    if len(values) != 1 or f"{DATA}BatchSampler" not in called_names(values[0]):
        return None
    assert isinstance(values[0], Opaque)
    arguments = values[0].arguments
    sampler, size = arguments.get("sampler", 0), arguments.get("batch_size", 1)
    drops = constant_of(arguments.get("drop_last", 2), False)
    if sampler is None or size is None or drops is ...:
        return None
    return Drawing(
        reader.length(sampler.values, sampler.node),
        reader.formula(size.values, size.node),
        bool(drops),
        "batches" if training else "",
    )


# Lengths.


def size(value: Opaque, reader: Reader) -> Formula | None:
    """The length of a data set or a sampler of the libraries; None for anything else."""
    if value.kind == "item":
        return part_of_split(value, reader)
    names = called_names(value)
    if len(names) != 1:
        return None
    dotted, given = names[0], value.arguments
    if dotted.startswith("torchvision.datasets."):
        return torchvision_size(dotted.rpartition(".")[2], given)
    if not dotted.startswith(DATA) or given.unknown_because:
        return None
    word = dotted[len(DATA) :]
    if word == "TensorDataset":
        first = given.positional()[:1]
        return known(reader.length(first[0].values, first[0].node)) if first else None
    if word in ("Subset", "SubsetRandomSampler"):
        indices = given.get("indices", 1 if word == "Subset" else 0)
        return known(reader.length(indices.values, indices.node)) if indices else None
    if word in ("ConcatDataset", "ChainDataset"):
        return sum_of(given, reader)
    if word in ("RandomSampler", "SequentialSampler", "WeightedRandomSampler"):
        drawn = given.get("num_samples", {"RandomSampler": 2, "WeightedRandomSampler": 1}.get(word))
        if drawn is not None and not is_none(drawn.values) and word != "SequentialSampler":
            return reader.formula(drawn.values, drawn.node)
        source = given.get("data_source", 0)
        return reader.length(source.values, source.node) if source is not None else None
    return None


def known(formula: Formula) -> Formula | None:
    """A length that is a number; a name of what it is made of says less than that of the whole."""
    return formula if formula.is_known else None


def sum_of(given: Arguments, reader: Reader) -> Formula | None:
    """The length of several data sets, one after the other."""
    first = given.get("datasets", 0)
    if first is None or len(first.values) != 1:
        return None
    several = first.values[0]
    if not isinstance(several, Sequence) or several.rest:
        return None
    result = number(0)
    for each in several.elements:
        result = add(result, reader.length(each, None))
    return known(result)


def torchvision_size(word: str, given: Arguments) -> Formula | None:
    """The length of a data set that torchvision downloads."""
    if word in TRAIN_AND_TEST:
        train = constant_of(given.get("train", 1), True)
        if isinstance(train, bool):
            count = TRAIN_AND_TEST[word][0 if train else 1]
            part = "training" if train else "test"
            return number(count, f"{count} is the length of {word}'s {part} set")
    if word in BY_SPLIT:
        split = constant_of(given.get("split", 1), "train")
        if split in BY_SPLIT[word]:
            count = BY_SPLIT[word][str(split)]
            return number(count, f"{count} is the length of {word}'s '{split}' set")
    return None


def part_of_split(value: Opaque, reader: Reader) -> Formula | None:
    """The length of one part of ``random_split``."""
    if len(value.operands) != 1 or len(value.operands[0]) != 1 or len(value.index) != 1:
        return None
    split, index = value.operands[0][0], value.index[0]
    if f"{DATA}random_split" not in called_names(split) or not isinstance(index, Constant):
        return None
    assert isinstance(split, Opaque)
    lengths, dataset = split.arguments.get("lengths", 1), split.arguments.get("dataset", 0)
    parts = reader.sequence(lengths.values) if lengths is not None else None
    if parts is None or dataset is None or not isinstance(index.value, int):
        return None
    if not -len(parts) <= index.value < len(parts):
        return None
    if any(isinstance(part.value, float) for part in parts):
        return fraction(parts, index.value, reader.length(dataset.values, dataset.node))
    return parts[index.value]


def fraction(parts: list[Formula], index: int, whole: Formula) -> Formula | None:
    """A part that is given as a fraction: rounded down, what is left dealt out one by one."""
    values = [part.value for part in parts]
    if whole.value is None or any(value is None for value in values):
        return None
    lengths = [int(whole.value * value) for value in values if value is not None]
    left = int(whole.value) - sum(lengths)
    for position in range(left):
        lengths[position % len(lengths)] += 1
    return number(lengths[index], *whole.because)


SCHEDULER = "torch.optim.lr_scheduler."
WARM_UP = Parameter("num_warmup_steps", 1)
TRAINING_STEPS = Parameter("num_training_steps", 2)

VOCABULARY = Vocabulary(
    drawing=drawing,
    size=size,
    schedules={
        f"{SCHEDULER}StepLR": (Parameter("step_size", 1), Parameter("gamma", 2, "factor", 0.1)),
        f"{SCHEDULER}MultiStepLR": (
            Parameter("milestones", 1),
            Parameter("gamma", 2, "factor", 0.1),
        ),
        f"{SCHEDULER}ExponentialLR": (Parameter("gamma", 1, "factor"),),
        f"{SCHEDULER}ConstantLR": (Parameter("total_iters", 2, default=5),),
        f"{SCHEDULER}LinearLR": (Parameter("total_iters", 3, default=5),),
        f"{SCHEDULER}PolynomialLR": (Parameter("total_iters", 1, default=5),),
        f"{SCHEDULER}CosineAnnealingLR": (
            Parameter("T_max", 1),
            Parameter("eta_min", 2, "factor"),
        ),
        f"{SCHEDULER}CosineAnnealingWarmRestarts": (
            Parameter("T_0", 1),
            Parameter("T_mult", 2, "factor"),
        ),
        f"{SCHEDULER}CyclicLR": (
            Parameter("base_lr", 1, "rate"),
            Parameter("max_lr", 2, "rate"),
            Parameter("step_size_up", 3, default=2000),
            Parameter("step_size_down", 4),
        ),
        f"{SCHEDULER}OneCycleLR": (
            Parameter("max_lr", 1, "rate"),
            Parameter("total_steps", 2),
            Parameter("epochs", 3),
            Parameter("steps_per_epoch", 4),
            Parameter("pct_start", 5, "factor", 0.3),
        ),
        f"{SCHEDULER}SequentialLR": (Parameter("milestones", 2),),
        "transformers.get_constant_schedule_with_warmup": (WARM_UP,),
        "transformers.get_linear_schedule_with_warmup": (WARM_UP, TRAINING_STEPS),
        "transformers.get_cosine_schedule_with_warmup": (WARM_UP, TRAINING_STEPS),
        "transformers.get_cosine_with_hard_restarts_schedule_with_warmup": (
            WARM_UP,
            TRAINING_STEPS,
        ),
        "transformers.get_polynomial_decay_schedule_with_warmup": (WARM_UP, TRAINING_STEPS),
        "transformers.get_scheduler": (
            Parameter("num_warmup_steps", 2),
            Parameter("num_training_steps", 3),
        ),
    },
    lambdas={
        f"{SCHEDULER}LambdaLR": Parameter("lr_lambda", 1),
        f"{SCHEDULER}MultiplicativeLR": Parameter("lr_lambda", 1),
    },
    rates={word: float(rate) for word, rate in DEFAULT_RATES.items()},
    shapes={
        "torch.randn": 0, "torch.rand": 0, "torch.zeros": 0, "torch.ones": 0, "torch.empty": 0,
        "torch.full": 0, "torch.eye": 0, "torch.randint": 2, "torch.linspace": 2,
        "torch.randperm": 0, "numpy.zeros": 0, "numpy.ones": 0, "numpy.empty": 0, "numpy.full": 0,
        "numpy.random.rand": 0, "numpy.random.randn": 0, "numpy.linspace": 2,
    },
    ranges=frozenset({"torch.arange", "numpy.arange"}),
    orders=frozenset({"torch.randperm"}),
    same_length=frozenset(
        {
            "float", "long", "int", "double", "half", "to", "clone", "contiguous", "unsqueeze",
            "type", "cuda", "cpu", "abs", "sin", "cos", "exp", "astype", "copy", "torch.sin",
            "torch.cos", "torch.exp", "torch.abs", "torch.from_numpy", "torch.tensor",
            "torch.as_tensor", "torch.tanh", "torch.sigmoid",
        }
    ),  # fmt: skip
)
