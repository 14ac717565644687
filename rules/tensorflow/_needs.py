"""What helpers a model has no use for, as far as its layers are known."""

from __future__ import annotations

from transpile.facts.values import (
    External,
    Function,
    Instance,
    Opaque,
    Unknown,
    Value,
    Values,
)
from transpile.helpers.files import helpers_in
from transpile.helpers.parts import without
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.prelude import prelude_of
from transpile.rules.tensorflow._names import FIT_METHODS, LAYER, MODEL_BASES, MODEL_MAKERS
from transpile.rules.tensorflow._sites import called, fits, loops_by_hand, receivers_of, taped_calls

#: Layers that compute each sample by itself, alike in every call, and add nothing to the loss.
PLAIN = frozenset(
    f"keras.layers.{name}"
    for name in (
        "Dense", "Flatten", "Reshape", "Permute", "RepeatVector", "Activation", "ReLU", "LeakyReLU",
        "PReLU", "ELU", "Softmax", "Embedding", "Masking", "Rescaling", "Normalization", "Add",
        "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "add",
        "concatenate", "multiply", "average", "maximum", "minimum", "subtract",
        "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose",
        "SeparableConv1D", "SeparableConv2D", "DepthwiseConv1D", "DepthwiseConv2D",
        "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D",
        "AveragePooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "AvgPool1D", "AvgPool2D",
        "AvgPool3D", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
        "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "GlobalAvgPool2D",
        "GlobalMaxPool1D", "GlobalMaxPool2D", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D",
        "Cropping1D", "Cropping2D", "Cropping3D", "UpSampling1D", "UpSampling2D", "UpSampling3D",
        "LayerNormalization", "LSTM", "GRU", "SimpleRNN", "Bidirectional", "TimeDistributed",
    )
)  # fmt: skip
#: Those that draw random numbers.
NOISY = frozenset(
    f"keras.layers.{name}"
    for name in (
        "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout",
        "GaussianNoise", "GaussianDropout", "MultiHeadAttention", "Attention", "RandomFlip",
        "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomBrightness",
        "RandomCrop",
    )
)  # fmt: skip
NORMALISING = frozenset({"keras.layers.BatchNormalization"})
#: What gives numbers, settings or data to layers, and no layers.
NO_LAYERS = (
    "builtins.", "numpy.", "math.", "os.", "keras.Input", "keras.datasets.", "keras.utils.",
    "keras.initializers.", "keras.regularizers.", "keras.constraints.", "keras.activations.",
    "argparse.", "tensorflow.data.", "tensorflow.constant", "tensorflow.cast", "pandas.",
    "sklearn.",
)  # fmt: skip
#: Arguments of layers by which they draw random numbers.
KNOWN = (*NO_LAYERS, "keras.", "tensorflow.nn.")
#: Where whatever a script calls comes from, where nothing it calls can give it other layers.
HARMLESS = (*KNOWN, "tensorflow.", "json.", "csv.", "time.", "random.", "pathlib.", "logging.")
WHOLE_MODELS = tuple(name for name in MODEL_MAKERS if name not in MODEL_BASES)
#: What seeds, or draws from a generator that all workers seed alike.
SEEDED = ("numpy.", "random.", "keras.utils.", "tensorflow.random.set_seed")
DROPPING = frozenset({"dropout", "recurrent_dropout"})
PLAIN_FIT = "transpile.rules.tensorflow.emitted.plain_fit"
WHOLE = frozenset({"keep_regularised_whole"})
#: Layers of Keras that are put together look up rows for each sample.
SHARED = frozenset({"merge_shared_rows"})
OWN = frozenset({"check_first_batch", "refuse_own_losses"})


def leave_out(plan: Plan) -> None:
    """Give the plan helpers without those that its models have no use for.

    Where scripts share a module of helpers, each has all of them, and so has one that shares
    evaluations, which may be those of other models.
    """
    if plan.options.evaluation == "shard":
        return
    if plan.options.helpers == "module" or len(plan.facts.modules) > 1:
        return
    names = useless(plan)
    sources = prelude_of("tensorflow", plan.options)
    for name in ("check_rows", "compute_rows", "share_calls") if names else ():
        plan.helpers[name] = without(sources[name], names)
    # One of several models may be part of another one, in whose calls it must not share its own.
    alone = len({id(model) for model in trained(plan)}) == 1
    if names >= OWN | WHOLE and alone and not loops_by_hand(plan):
        plan.helpers["split_fit"] = helpers_in(PLAIN_FIT)["split_fit"]


@query
def useless(plan: Plan) -> frozenset[str]:
    """The helpers that no model of the plan has a use for; none where a layer is not known."""
    models = trained(plan)
    if not models or any(map(is_own, models)):
        return useless_for_own(plan)
    words = plan.entry.source.text
    kinds: set[str] = set()
    for value in walk_back((*models, *added(plan))):
        if isinstance(value, Unknown | Instance | Function) or picks_of_layers(value):
            return frozenset()
        if isinstance(value, External) and not value.name.startswith(KNOWN):
            return frozenset()
        if isinstance(value, Opaque) and value.kind == "parameter":
            return frozenset()
        if isinstance(value, Opaque) and value.kind == "call":
            names = called_names(value)
            if not names and not is_of_layers(value) and not is_of_numbers(value):
                return frozenset()
            kinds.update(name for name in names if not name.startswith(NO_LAYERS))
            if any(one.keyword in DROPPING for one in value.arguments.items):
                kinds.update(NOISY)
            if value.arguments.unknown_because is not None:
                return frozenset()
    kinds -= MODEL_BASES
    if not kinds <= PLAIN | NOISY | NORMALISING:
        return frozenset()
    found = OWN | SHARED if "activity_regularizer" in words else OWN | SHARED | WHOLE
    return found | useless_for(kinds)


def useless_for(kinds: set[str]) -> frozenset[str]:
    """The helpers that layers of some kinds have no use for."""
    noise = frozenset() if kinds & NOISY else frozenset({"own_noise"})
    return noise if kinds & NORMALISING else noise | {"whole_moments"}


def useless_for_own(plan: Plan) -> frozenset[str]:
    """The helpers that models of the script's own have no use for, by all that the script calls."""
    kinds: set[str] = set()
    for event in plan.facts.calls:
        if any(one.keyword in DROPPING for one in event.arguments.items):
            kinds.update(NOISY)
        for callee in event.callee:
            if isinstance(callee, External):
                if not callee.name.startswith(HARMLESS) or callee.name.startswith(WHOLE_MODELS):
                    return frozenset()
                kinds.add(callee.name)
    if any(map(draws, kinds)):
        kinds.update(NOISY)
    layers = {name for name in kinds if name.startswith("keras.layers.")}
    return useless_for(kinds) if layers <= PLAIN | NOISY | NORMALISING | {LAYER} else frozenset()


def draws(name: str) -> bool:
    """Whether a function may draw random numbers in the call of a model."""
    return any(word in name for word in ("random", "dropout")) and not name.startswith(SEEDED)


def trained(plan: Plan) -> Values:
    """The models that are trained."""
    found: list[Value] = []
    for event in fits(plan):
        found.extend(receivers_of(event, FIT_METHODS) or ())
    for event in taped_calls(plan):
        found.extend(called(event))
    return tuple(found)


def is_own(value: Value) -> bool:
    """Whether a model is anything else than one that Keras puts together out of layers."""
    names = called_names(value)
    return not names or not MODEL_BASES.issuperset(names)


def added(plan: Plan) -> Values:
    """What is added to models after they are made, and to lists that they may be made of."""
    found: list[Value] = []
    for event in plan.facts.calls:
        if receivers_of(event, frozenset({"add", "append", "extend", "insert"})) is not None:
            found.extend(value for one in event.arguments.items for value in one.values)
    return tuple(found)


def picks_of_layers(value: Value) -> bool:
    """Whether part of what a layer gives back is taken, which may be some samples of it."""
    if not isinstance(value, Opaque) or value.kind != "item":
        return False
    return any(
        name.startswith(("keras.layers.", "keras.Input"))
        for group in value.operands
        for each in walk_back(group)
        for name in called_names(each)
    )


def is_of_layers(value: Opaque) -> bool:
    """Whether a call is one of a layer or a model that is made by a call."""
    return bool(value.callee) and all(called_names(callee) for callee in value.callee)


def is_of_numbers(value: Opaque) -> bool:
    """Whether a call is one of a method of data or settings, and so gives no layer."""
    return all(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and not any(
            name.startswith("keras.layers.") or name in MODEL_BASES
            for each in walk_back(callee.operands[0])
            for name in called_names(each)
        )
        for callee in value.callee
    ) and bool(value.callee)
