"""The losses of torch: where their arguments stand, and what they average over."""

from __future__ import annotations

from transpile.facts.values import Arguments, Constant, Values
from transpile.records import dataclass

FUNCTIONAL = "torch.nn.functional."

_OLD = ("size_average", "reduce", "reduction")


@dataclass(frozen=True)
class Signature:
    """A loss, as a function or as a class.

    Args:
        function: word of the functional form.
        inputs: how many tensors it compares.
        parameters: those behind the tensors, of the function.
        settings: the parameters of the class.
    """

    function: str
    inputs: int
    parameters: tuple[str, ...]
    settings: tuple[str, ...]


_CLASSES = ("weight", "size_average", "ignore_index", "reduce", "reduction")
_BINARY = ("weight", *_OLD)

#: Class to signature; the functional forms are found through it.
CLASSES: dict[str, Signature] = {
    "CrossEntropyLoss": Signature(
        "cross_entropy", 2, (*_CLASSES, "label_smoothing"), (*_CLASSES, "label_smoothing")
    ),
    "NLLLoss": Signature("nll_loss", 2, _CLASSES, _CLASSES),
    "NLLLoss2d": Signature("nll_loss", 2, _CLASSES, _CLASSES),
    "BCELoss": Signature("binary_cross_entropy", 2, _BINARY, _BINARY),
    "BCEWithLogitsLoss": Signature(
        "binary_cross_entropy_with_logits", 2, (*_BINARY, "pos_weight"), (*_BINARY, "pos_weight")
    ),
    "MSELoss": Signature("mse_loss", 2, _OLD, _OLD),
    "L1Loss": Signature("l1_loss", 2, _OLD, _OLD),
    "SmoothL1Loss": Signature("smooth_l1_loss", 2, (*_OLD, "beta"), (*_OLD, "beta")),
    "HuberLoss": Signature("huber_loss", 2, ("reduction", "delta"), ("reduction", "delta")),
    "KLDivLoss": Signature("kl_div", 2, (*_OLD, "log_target"), (*_OLD, "log_target")),
    "PoissonNLLLoss": Signature(
        "poisson_nll_loss",
        2,
        ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
        ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
    ),
    "GaussianNLLLoss": Signature(
        "gaussian_nll_loss", 3, ("full", "eps", "reduction"), ("full", "eps", "reduction")
    ),
    "HingeEmbeddingLoss": Signature(
        "hinge_embedding_loss", 2, ("margin", *_OLD), ("margin", *_OLD)
    ),
    "MarginRankingLoss": Signature("margin_ranking_loss", 3, ("margin", *_OLD), ("margin", *_OLD)),
    "CosineEmbeddingLoss": Signature(
        "cosine_embedding_loss", 3, ("margin", *_OLD), ("margin", *_OLD)
    ),
    "TripletMarginLoss": Signature(
        "triplet_margin_loss",
        3,
        ("margin", "p", "eps", "swap", *_OLD),
        ("margin", "p", "eps", "swap", *_OLD),
    ),
    "TripletMarginWithDistanceLoss": Signature(
        "triplet_margin_with_distance_loss",
        3,
        (),
        ("distance_function", "margin", "swap", "reduction"),
    ),
    "SoftMarginLoss": Signature("soft_margin_loss", 2, _OLD, _OLD),
    "MultiMarginLoss": Signature(
        "multi_margin_loss", 2, ("p", "margin", "weight", *_OLD), ("p", "margin", "weight", *_OLD)
    ),
    "MultiLabelMarginLoss": Signature("multilabel_margin_loss", 2, _OLD, _OLD),
    "MultiLabelSoftMarginLoss": Signature("multilabel_soft_margin_loss", 2, _BINARY, _BINARY),
    "CTCLoss": Signature(
        "ctc_loss",
        4,
        ("blank", "reduction", "zero_infinity"),
        ("blank", "reduction", "zero_infinity"),
    ),
    "AdaptiveLogSoftmaxWithLoss": Signature("", 2, (), ()),
}

FUNCTIONS: dict[str, Signature] = {
    **{signature.function: signature for signature in CLASSES.values() if signature.function},
    "sigmoid_focal_loss": Signature("sigmoid_focal_loss", 2, ("alpha", "gamma", "reduction"), ()),
}
#: Losses whose mean is weighted by class and leaves an index out.
AVERAGED_BY_WEIGHT = frozenset({"cross_entropy", "nll_loss"})
#: Losses whose mean is over the elements of their target, and that need no other setting.
SIZED = frozenset(
    {
        "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
    }
)  # fmt: skip
#: Losses that are not averaged unless they are told to be.
NOT_REDUCED = frozenset({"sigmoid_focal_loss"})
_PACKAGES = ("torch.nn.functional.", "torch.nn.", "torch.", "torchvision.ops.")


def loss_function(name: str) -> Signature | None:
    """The signature of a loss called as a function, by its dotted name."""
    word = name.rpartition(".")[2]
    if word in FUNCTIONS and name.startswith(_PACKAGES):
        return FUNCTIONS[word]
    return None


def loss_class(name: str) -> Signature | None:
    """The signature of a loss made as an object, by its dotted name."""
    word = name.rpartition(".")[2]
    if word in CLASSES and name.startswith("torch.nn."):
        return CLASSES[word]
    return None


@dataclass(frozen=True)
class Settings:
    """How a loss reduces.

    Args:
        reduction: ``mean``, ``sum``, ``none``, ``batchmean``; None where it is not known.
        weight: whether classes have weights; None where that differs by path.
        ignore_index: whether an index is left out explicitly.
    """

    reduction: str | None
    weight: bool | None
    ignore_index: bool


def settings_of(
    signature: Signature,
    arguments: Arguments,
    as_function: bool,
    attributes: dict[str, Values] | None = None,
) -> Settings:
    """How a loss reduces, from the arguments of its call or of its class.

    Args:
        signature: the loss.
        arguments: of the call that sets it up.
        as_function: whether the tensors are among the arguments.
        attributes: what the script sets on the object afterwards.
    """
    names = signature.parameters if as_function else signature.settings
    offset = signature.inputs if as_function else 0
    later = attributes or {}

    def given(name: str) -> Values:
        if name in later:
            return later[name]
        position = names.index(name) + offset if name in names else None
        found = arguments.get(name, position)
        if found is None:
            return ()
        return (*found.values, Constant(None)) if found.maybe else found.values

    reduction: str | None = "none" if signature.function in NOT_REDUCED else "mean"
    values = given("reduction")
    if arguments.unknown_because:
        reduction = None
    elif values:
        word = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else None
        reduction = word if isinstance(word, str) else None
        if reduction == "elementwise_mean":
            reduction = "mean"
    for name, replaced in (("size_average", "sum"), ("reduce", "none")):
        old = given(name)
        if old and all(isinstance(value, Constant) for value in old):
            if any(value == Constant(False) for value in old):
                reduction = replaced if len(old) == 1 else None
        elif old:
            reduction = None
    weights = given("weight")
    none = [value == Constant(None) for value in weights]
    weight: bool | None = bool(weights) and not all(none)
    if weight and any(none):
        weight = None
    return Settings(reduction, weight, bool(given("ignore_index")))
