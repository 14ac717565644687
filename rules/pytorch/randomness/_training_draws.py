"""Whether anything draws random numbers once the training has begun.

Where nothing does, there is nothing in which the ranks should differ. What cannot be seen counts as
drawing: libraries other than those known here, and calls that nobody is seen to make.
"""

from __future__ import annotations

import re
import sys

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.plan.model import Plan
from transpile.rules.pytorch.devices._model_places import imported
from transpile.rules.pytorch.randomness._random_draws import Draws

#: Libraries that draw only where they are asked to by a name below.
QUIET = frozenset({"torch", "numpy", "math", "yaml", "tqdm", "matplotlib", "pandas"})
#: What of torchvision draws nothing: packages, and transforms of images.
STILL_PACKAGES = ("torchvision.datasets.", "torchvision.utils.", "torchvision.io.")
STILL_TRANSFORMS = frozenset(
    {
        "CenterCrop", "Compose", "ConvertImageDtype", "FiveCrop", "Grayscale", "InterpolationMode",
        "Normalize", "PILToTensor", "Pad", "Resize", "TenCrop", "ToDtype", "ToImage", "ToPILImage",
        "ToTensor",
    }
)  # fmt: skip
#: What layers that draw, and what samplers and augmentations have in their names.
NOISY = re.compile(
    r"drop|rrelu|fractional|transformer|multihead|gumbel|augment|randomsampler|distributions",
    re.IGNORECASE,
)
#: What calls that draw have in their names.
DRAWING = re.compile(
    r"rand|normal|uniform|choice|perm|shuffle|sample|bernoulli|multinomial|poisson|exponential"
    r"|noise|beta|gamma|cauchy|geometric|dirichlet|laplace|gauss|init_$",
)


def may_draw_in_training(plan: Plan) -> bool:
    """Whether random numbers may be drawn behind the place where the training begins."""
    draws = Draws(plan)
    events: dict[int, list[bool]] = {}
    for event in plan.facts.events:
        late = event.detached or draws.is_late(event)
        events.setdefault(id(event.node), []).append(late)
    return any(
        imports_others(plan, module) or draws_late(module, events)
        for module in plan.facts.modules.values()
    )


def imports_others(plan: Plan, module: Module) -> bool:
    """Whether a module imports what may draw by itself."""
    own = {name.partition(".")[0] for name in plan.facts.modules}
    others = {
        name
        for node in module.source.nodes_of(cst.Import, cst.ImportFrom)
        for name in imported(node)
        if name not in own and name not in QUIET and name not in sys.stdlib_module_names
    }
    if "torchvision" in others and is_still(plan, module):
        others.remove("torchvision")
    return bool(others) or any(
        isinstance(node.names, cst.ImportStar) for node in module.source.nodes_of(cst.ImportFrom)
    )


def is_still(plan: Plan, module: Module) -> bool:
    """Whether nothing draws of what a module uses of torchvision."""
    for node in module.source.nodes_of(cst.Name, cst.Attribute):
        for value in plan.facts.values_of(node):
            name = value.name if isinstance(value, External) else ""
            if not name.startswith("torchvision."):
                continue
            if name.count(".") == 1 or name == "torchvision.transforms.v2":
                # A package, of which something else is used.
                continue
            package, _, word = name.rpartition(".")
            of_images = package.startswith("torchvision.transforms") and word in STILL_TRANSFORMS
            if not of_images and not name.startswith(STILL_PACKAGES):
                return False
    return True


def draws_late(module: Module, events: dict[int, list[bool]]) -> bool:
    """Whether a module names a layer that draws, or calls what draws once the training runs."""
    if any(NOISY.search(node.value) for node in module.source.nodes_of(cst.Name)):
        return True
    for node in module.source.nodes_of(cst.Call):
        name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if not isinstance(name, cst.Name) or not DRAWING.search(name.value):
            continue
        if any(
            each.keyword is not None and each.keyword.value == "generator" for each in node.args
        ):
            continue
        if any(events.get(id(node), [True])):
            return True
    return False
