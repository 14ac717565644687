"""Whether libraries draw random numbers where they make the data.

They take them from the state of NumPy, or of Python, which the script may not import, nor seed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from transpile.facts.values import Constant, External, Opaque, Value
from transpile.plan.data.made_of import of_loaders, reach
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Packages that draw nothing where they read, convert or show data.
QUIET = frozenset(
    {
        "numpy", "torch", "torchvision", "torchaudio", "PIL", "cv2", "h5py", "yaml", "tqdm",
        "matplotlib", "imageio", "soundfile", "librosa", "nltk", "spacy", "transformers",
        "tokenizers", "omegaconf", "hydra", "einops", "pyarrow", "lmdb", "requests",
    }
)  # fmt: skip
NUMPY = frozenset({"numpy"})
#: Packages that draw from the state of NumPy alone.
BY_NUMPY = frozenset({"sklearn", "pandas", "datasets", "scipy", "skimage"})
#: Of packages that draw by some of their functions, those that do not.
STILL = (
    "sklearn.preprocessing.", "sklearn.datasets.load_", "sklearn.datasets.fetch_",
    "sklearn.metrics.", "sklearn.feature_extraction.", "sklearn.impute.", "sklearn.pipeline.",
    "sklearn.compose.", "scipy.io.", "scipy.signal.", "scipy.ndimage.", "skimage.io.",
    "skimage.transform.", "joblib.load", "datasets.load_",
)  # fmt: skip
#: Methods of tables that draw, by their packages; all their others do not.
OF_TABLES = {
    "pandas": frozenset({"sample"}),
    "datasets": frozenset({"shuffle", "train_test_split"}),
}
GIVEN_SEEDS = ("random_state", "seed", "rng", "generator")


@query
def sources_of_libraries(plan: Plan) -> frozenset[str]:
    """The sources of the random numbers that libraries may draw where the data is made."""
    reached: set[int] = set(of_loaders(plan))
    for backward in plan.backwards:
        for cut in backward.cuts:
            reach((*cut.values, *plan.facts.values_of(cut.node)), reached)
    found = {
        source
        for event in plan.facts.reached_calls
        for value in event.result
        if id(value) in reached and may_draw(plan, value)
        for source in sources_of(value)
    }
    return frozenset(found)


def sources_of(value: Value) -> frozenset[str]:
    """Where a library takes its random numbers from; one that nothing is known of, from both."""
    packages = set(packages_of(value)) - {"numpy", "torch"}
    return NUMPY if packages <= BY_NUMPY else NUMPY | {"random"}


def may_draw(plan: Plan, value: Value) -> bool:
    """Whether a library's call may take random numbers from the state of the process."""
    given = getattr(value, "arguments", None)
    seeds = [given.keyword(word) for word in GIVEN_SEEDS] if given is not None else []
    if any(seed is not None and seed.values != (Constant(None),) for seed in seeds):
        return False
    if any(draws(plan, name) for name in called_names(value)):
        return True
    return any(
        method in OF_TABLES[package] if package in OF_TABLES else draws(plan, f"{package}.")
        for method, receivers in method_calls(value)
        for receiver in receivers
        for package in packages_of(receiver)
    )


def draws(plan: Plan, name: str) -> bool:
    """Whether a function of a library may draw."""
    package = name.partition(".")[0]
    own = {module.partition(".")[0] for module in plan.facts.modules}
    known = QUIET | own | {"builtins", "pandas"}
    return not (package in known or package in sys.stdlib_module_names or name.startswith(STILL))


def packages_of(value: Value) -> Iterator[str]:
    """The packages that have made an object, or that on which the methods were called."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, External):
            yield one.name.partition(".")[0]
        if id(one) in seen or not isinstance(one, Opaque):
            continue
        seen.add(id(one))
        for name in called_names(one):
            yield name.partition(".")[0]
        pending.extend(made for _, receivers in method_calls(one) for made in receivers)
        if one.kind in ("item", "attribute", "element", "operation"):
            pending.extend(made for group in one.operands for made in group)
