"""What each process adds up for itself on its GPU, whose kernels take an order of their own."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.values import Constant, External, Opaque, Value, Values, only_constant
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.rules.pytorch.devices._devices import is_device_object

#: Methods of tensors that add up.
ADDING_UP = frozenset(
    {
        "sum", "mean", "std", "var", "dot", "logsumexp", "prod", "nansum", "nanmean", "matmul",
        "mm", "bmm", "mv", "addmm", "inner", "trace", "cumsum", "softmax", "log_softmax", "dist",
        "cov", "corrcoef",
    }
)  # fmt: skip
#: Functions that do.
FUNCTIONS = frozenset(
    {
        "torch.einsum", "torch.cdist", "torch.tensordot", "torch.std_mean", "torch.var_mean",
        "torch.cosine_similarity", "torch.linalg.matrix_norm",
        *(f"torch.{name}" for name in ADDING_UP),
    }
)  # fmt: skip
#: Norms, which are taken of weights and gradients.
NORMS = frozenset(
    {
        "torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm",
        "torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm",
        "torch.nn.utils.get_total_norm",
    }
)  # fmt: skip
#: Where weights and gradients are had from.
WEIGHTS = frozenset({"parameters", "named_parameters", "get_parameter", "state_dict"})
#: What is computed from these is computed by the CPU.
LEAVING = frozenset({"item", "cpu", "numpy", "tolist"})
#: What tells which GPU the process uses.
NUMBERS = frozenset({"torch.cuda.current_device", "torch.accelerator.current_device_index"})


class OnGpus:
    """Tells what is added up on a GPU; asked for scripts whose models may be there.

    Args:
        models: the identities of the models.
    """

    def __init__(self, models: set[int]) -> None:
        self.models = models
        self.found: dict[int, tuple[Value, bool]] = {}

    def adds_up(self, value: Opaque) -> bool:
        """Whether a call or an operation adds up numbers that may be on a GPU."""
        if value.kind == "operation":
            return value.name == "MatrixMultiply" and self.any_on_gpu(value.operands)
        if value.kind != "call":
            return False
        names = set(called_names(value))
        if names & NORMS:
            return True
        if names & FUNCTIONS:
            return self.any_on_gpu(item.values for item in value.arguments.items)
        return any(
            name == "norm" or (name in ADDING_UP and self.any_on_gpu((receiver,)))
            for name, receiver in method_calls(value)
        )

    def any_on_gpu(self, groups: Iterable[Values]) -> bool:
        """Whether some of the operands may be on a GPU."""
        return any(self.is_on_gpu(value) for values in groups for value in values)

    def is_on_gpu(self, value: Value) -> bool:
        """Whether a value comes from what is put there: weights, gradients, what is moved."""
        if id(value) not in self.found:
            placed = any(
                id(one) in self.models or is_placed(one) for one in walk_back((value,), enter=stays)
            )
            self.found[id(value)] = value, placed
        return self.found[id(value)][1]


def stays(value: Value) -> bool:
    """Whether what a value was made of is on its device."""
    return not any(name in LEAVING for name, _ in method_calls(value))


def is_placed(value: Value) -> bool:
    """Whether a value is one of weights or gradients, or is put onto a device that may be a GPU."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "attribute":
        return value.name == "grad"
    if value.kind != "call":
        return False
    methods = {name for name, _ in method_calls(value)}
    if methods & WEIGHTS or "cuda" in methods:
        return True
    items = value.arguments.items
    if "to" in methods:
        return any(may_name_gpu(item.values) for item in items if item.keyword in (None, "device"))
    return any(item.keyword == "device" and may_name_gpu(item.values) for item in items)


def is_number_of_gpu(value: Opaque) -> bool:
    """Whether a value is the number of a GPU, of which each process has its own."""
    if value.kind == "attribute":
        return value.name == "index" and any(map(is_device_object, value.operands[0]))
    methods = {name for name, _ in method_calls(value)}
    return "get_device" in methods or not NUMBERS.isdisjoint(called_names(value))


def may_name_gpu(values: Values) -> bool:
    """Whether an argument may be a GPU: no type of numbers, and not the CPU."""
    constant = only_constant(values)
    if constant is not None:
        return isinstance(constant, Constant) and constant.value not in ("cpu", None)
    return bool(values) and not all(isinstance(value, External) for value in values)
