"""Where the models of a script are while they train: on the CPU, on GPUs, or as a flag says.

The backend of the process group follows from it. What cannot be told counts as decided by a flag:
the output then joins a group for both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Literal

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Opaque, Value
from transpile.plan.flow.start import is_main_guard
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.moves import is_of, leaves, moved
from transpile.plan.query import query
from transpile.rules.pytorch.devices._gpu_names import device_arguments, in_location, reached
from transpile.rules.pytorch.devices._outside import is_chosen_outside, may_be_any, named_devices

Place = Literal["cpu", "cuda", "either"]

AVAILABILITY = frozenset({"torch.cuda.is_available"})
#: Libraries that never put a model onto a GPU by themselves.
HARMLESS = frozenset(
    {
        "torch", "torchvision", "torchaudio", "torchtext", "timm", "transformers", "datasets",
        "tokenizers", "numpy", "scipy", "pandas", "sklearn", "matplotlib", "seaborn", "PIL", "cv2",
        "skimage", "imageio", "tqdm", "yaml", "ruamel", "toml", "tomli", "tensorboard",
        "tensorboardX", "wandb", "mlflow", "click", "fire", "hydra", "omegaconf", "einops", "nltk",
        "absl", "h5py", "rich", "loguru", "progressbar", "albumentations", "torchmetrics",
        "torchsummary", "torchinfo", "networkx", "gym", "gymnasium", "psutil", "requests", "attr",
        "pydantic", "tabulate", "termcolor", "colorama", "joblib", "librosa", "soundfile",
    }
)  # fmt: skip
CHOOSING_DEFAULTS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
#: Names that stand for a GPU, or let a library choose one.
GPU_WORDS = ("cuda", "accelerator", "device_map", "set_default_device")
#: What merely tells people something.
TELLING = frozenset({"print", "info", "debug", "warning", "error"})


@query
def model_place(plan: Plan) -> Place:
    """Where the trained models are: never on a GPU, on one wherever there is one, or untold."""
    return find_place(plan)


def find_place(plan: Plan) -> Place:
    """See :func:`model_place`."""
    if chosen_outside(plan) or foreign(plan):
        return "either"
    said = list(words(plan, names_device))
    if not any(names_gpu(node) for _, node in said):
        return "either" if untold(plan) else "cpu"
    if all(follows_availability(plan, module, node) for module, node in said) and all(
        moves_to_gpu(plan, model) for model in plan.trained_models
    ):
        return "cuda"
    return "either"


def chosen_outside(plan: Plan) -> bool:
    """Whether something is put onto a device that an argument or a configuration names."""
    return any(
        is_chosen_outside(argument.values)
        for event in plan.facts.calls
        if reached(event)
        for argument in device_arguments(event)
    )


def untold(plan: Plan) -> bool:
    """Whether something is put onto a device that nothing in the project tells."""
    return any(
        may_be_any(argument.values)
        for event in plan.facts.calls
        if reached(event)
        for argument in device_arguments(event)
    )


@query
def makes_tensors_on_gpu(plan: Plan) -> bool:
    """Whether the script may make a GPU the device of all that it does not put anywhere."""
    return any(
        may_be_gpu(value)
        for event in plan.facts.calls
        if reached(event)
        and any(isinstance(c, External) and c.name in CHOOSING_DEFAULTS for c in event.callee)
        for item in event.arguments.items
        for value in item.values
    )


def may_be_gpu(value: Value) -> bool:
    """Whether a default device, or a default type of tensors, may be that of a GPU."""
    if isinstance(value, Constant):
        return "cuda" in str(value.value)
    if isinstance(value, External):
        return ".cuda." in value.name
    if "torch.device" in called_names(value) and isinstance(value, Opaque):
        named = [one for one in named_devices((value,)) if "torch.device" not in called_names(one)]
        return any(map(may_be_gpu, named))
    return True


def foreign(plan: Plan) -> bool:
    """Whether the project imports what may choose a device by itself."""
    own = {name.partition(".")[0] for name in plan.facts.modules}
    return any(
        name not in own and name not in HARMLESS and name not in sys.stdlib_module_names
        for module in plan.facts.modules.values()
        for node in module.source.nodes_of(cst.Import, cst.ImportFrom)
        for name in imported(node)
    )


def imported(node: cst.CSTNode) -> Iterator[str]:
    """The packages that a statement imports."""
    names: list[cst.BaseExpression] = []
    if isinstance(node, cst.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, cst.ImportFrom) and node.module is not None and not node.relative:
        names = [node.module]
    for name in names:
        while isinstance(name, cst.Attribute):
            name = name.value
        if isinstance(name, cst.Name):
            yield name.value


def words(
    plan: Plan, matters: Callable[[cst.CSTNode], bool] = lambda node: True
) -> Iterator[tuple[Module, cst.CSTNode]]:
    """What may name a device in the project: names, and strings that nobody just reads.

    Args:
        plan: the plan.
        matters: which of them are asked for; this costs less than to see who reads them.
    """
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Name, cst.FormattedStringText, cst.SimpleString):
            if matters(node) and not (type(node) is cst.SimpleString and tells(module, node)):
                yield module, node


def tells(module: Module, node: cst.CSTNode) -> bool:
    """Whether a string is there to be read by people: a docstring, a help, what is printed."""
    for outer in module.source.parents(node):
        if isinstance(outer, cst.Arg) and outer.keyword is not None:
            if outer.keyword.value in ("help", "description"):
                return True
        if isinstance(outer, cst.Call):
            name = outer.func.attr if isinstance(outer.func, cst.Attribute) else outer.func
            return isinstance(name, cst.Name) and name.value in TELLING
        if isinstance(outer, (cst.Expr, cst.BaseCompoundStatement)):
            return isinstance(outer, cst.Expr)
    return False


def names_device(node: cst.CSTNode) -> bool:
    """Whether a word stands for a GPU, or may stand for the CPU."""
    return names_gpu(node) or "cpu" in getattr(node, "value", "")


def names_gpu(node: cst.CSTNode) -> bool:
    """Whether a word stands for a GPU."""
    text = getattr(node, "value", "")
    return any(word in text for word in GPU_WORDS)


def follows_availability(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a word names no device, or one that is used wherever there is a GPU."""
    if isinstance(node, cst.Name):
        if node.value in GPU_WORDS[1:]:
            return False
        if node.value != "cuda" or not is_called(module, node):
            return True
    elif isinstance(node, cst.SimpleString) and node.evaluated_value == "cpu":
        tests = list(tests_around(module, node))
        return in_location(plan, module, node) or (
            bool(tests) and all(is_availability(plan, test) for test in tests)
        )
    elif not names_gpu(node):
        return True
    return all(is_availability(plan, test) for test in tests_around(module, node))


def is_called(module: Module, node: cst.CSTNode) -> bool:
    """Whether a name is that of a method that is called."""
    attribute = module.source.parent(node)
    call = module.source.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    return isinstance(call, cst.Call) and call.func is attribute


def tests_around(module: Module, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The conditions under which an expression is come to in its function."""
    inner = node
    for outer in module.source.parents(node):
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return
        if isinstance(outer, cst.IfExp) and inner is not outer.test:
            yield outer.test
        if isinstance(outer, cst.If) and inner is not outer.test and not is_main_guard(outer):
            yield outer.test
        inner = outer


def is_availability(plan: Plan, test: cst.BaseExpression) -> bool:
    """Whether a condition asks nothing but whether there is a GPU."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test = test.expression
    values = plan.facts.values_of(test)
    return bool(values) and all(set(called_names(value)) & AVAILABILITY for value in values)


def moves_to_gpu(plan: Plan, model: Model) -> bool:
    """Whether the script puts a model onto the GPU, and never elsewhere."""
    moves = [
        event
        for event in plan.facts.calls
        if reached(event) and any(is_of(plan, value, model) for value in moved(plan, event))
    ]
    return not any(leaves(plan, event) for event in moves) and any(
        goes_to_gpu(event)
        and all(
            is_availability(plan, frame.node.test)
            for frame in event.stack
            if isinstance(frame, Branch) and isinstance(frame.node, cst.If)
            if not is_main_guard(frame.node)
        )
        for event in moves
    )


def goes_to_gpu(event: Event) -> bool:
    """Whether a call of a method moves to a GPU."""
    if any(isinstance(callee, Opaque) and callee.name == "cuda" for callee in event.callee):
        return True
    return any(
        isinstance(value, Constant) and str(value.value).startswith("cuda")
        for item in event.arguments.items
        for value in walk_back(item.values)
    )


def uses_accelerator(plan: Plan) -> bool:
    """Whether the script leaves open what kind of GPU there is."""
    return any(
        node.attr.value == "accelerator"
        and External("torch.accelerator") in plan.facts.values_of(node)
        for module in plan.facts.modules.values()
        for node in module.source.nodes_of(cst.Attribute)
    )
