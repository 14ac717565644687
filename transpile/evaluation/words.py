"""What a framework's rules know of its evaluation loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from transpile.facts.values import Values
from transpile.plan.effects.effects import Vocabulary
from transpile.records import dataclass, field

from .model import Way

#: Packages whose functions compute and do nothing else, but for those named below.
COMPUTING = (
    "numpy.", "math.", "operator.", "itertools.", "functools.", "collections.", "copy.",
    "sklearn.metrics.", "scipy.", "einops.", "time.", "cv2.", "PIL.", "tqdm.", "string.", "re.",
    "random.", "statistics.", "typing.", "dataclasses.", "enum.", "warnings.",
)  # fmt: skip
EFFECTS = (
    "numpy.save", "numpy.load", "numpy.set", "cv2.imwrite", "cv2.imshow", "cv2.waitKey",
    "tqdm.tqdm.write", "random.seed", "numpy.random.seed",
)  # fmt: skip
#: Packages of which nothing has a mode.
MODELESS = ("builtins.", "math.", "numpy.", "collections.", "itertools.", "copy.")


@dataclass(frozen=True, eq=False)
class EvaluationWords:
    """What a framework's functions and classes mean for an evaluation.

    Args:
        package: the prefix of the framework itself.
        vocabulary: what has effects.
        is_distributed: whether a sampler knows of several processes.
        is_stream: whether a data set is iterated and not indexed.
        computing: prefixes of functions that compute, beside those of packages known to all.
        effects: prefixes of functions that do more, although their package computes.
        drawing: functions that draw random numbers.
        dropouts: prefixes of functions that do so unless they are told that nothing is trained.
        layers: prefixes of the framework's layers and losses.
        models: prefixes of what models are built of.
        transforms: prefixes of what samples are prepared by.
        compilers: functions that compile a model.
        zeros: functions that fill a tensor or an array with zeros.
        tensors: functions that make a tensor of what they are given.
        joins: functions that put tensors and arrays behind each other.
        looking: methods that look at something without changing it.
    """

    package: str
    vocabulary: Vocabulary
    is_distributed: Callable[[Values], bool]
    is_stream: Callable[[Values], bool]
    computing: tuple[str, ...]
    effects: tuple[str, ...]
    drawing: frozenset[str]
    dropouts: tuple[str, ...]
    layers: tuple[str, ...]
    models: tuple[str, ...]
    transforms: tuple[str, ...]
    compilers: frozenset[str]
    zeros: frozenset[str]
    tensors: frozenset[str]
    joins: Mapping[str, Way]
    looking: frozenset[str] = field(default_factory=frozenset)

    @property
    def modeless(self) -> tuple[str, ...]:
        """Prefixes of what has no mode but for the layers that are known to have one."""
        return (self.package, *MODELESS)
