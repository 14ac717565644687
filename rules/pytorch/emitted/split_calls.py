"""The wrap that splits the calls of a model over the processes, and what it is made of."""

import dataclasses
import functools
from typing import Any, Callable, List

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from transpile.rules.pytorch.emitted.noise import same_noise
from transpile.rules.pytorch.emitted.norms import own_statistics
from transpile.rules.pytorch.emitted.processes import get_world_size
from transpile.rules.pytorch.emitted.randomness import unchanged_randomness


def rows_of_ranks(total: int) -> List[int]:
    """Return how many of the rows each rank computes; the last ranks may have one less."""
    size, more = divmod(total, dist.get_world_size())
    return [size + (rank < more) for rank in range(dist.get_world_size())]


class ShareRows(torch.autograd.Function):
    """Take this rank's rows of a tensor that all ranks have.

    With W ranks and the mean that DistributedDataParallel takes, every rank carries the whole
    gradient of such a tensor, and W times the gradient of its own rows. So the gradient is
    gathered, divided by W; written with GatherRows, it can be differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, axis: int, factor: float) -> Any:
        ctx.axis, ctx.total, ctx.factor = axis, tensor.size(axis), factor
        counts, rank = rows_of_ranks(ctx.total), dist.get_rank()
        rows = tensor.narrow(axis, sum(counts[:rank]), counts[rank])
        return rows.clone() if factor == 1 else rows * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        factor = ctx.factor / dist.get_world_size()
        return GatherRows.apply(gradient, ctx.axis, ctx.total, factor), None, None


class GatherRows(torch.autograd.Function):
    """Put the rows of all ranks together; the gradient is this rank's rows, times the ranks."""

    @staticmethod
    def forward(ctx: Any, rows: Any, axis: int, total: int, factor: float) -> Any:
        ctx.axis, ctx.factor, ctx.counts = axis, factor, rows_of_ranks(total)
        padding = max(ctx.counts) - rows.size(axis)
        if padding > 0:
            rows = torch.cat([rows, rows.narrow(axis, 0, padding)], axis)
        parts = [torch.empty_like(rows.contiguous()) for _ in ctx.counts]
        dist.all_gather(parts, rows.contiguous())
        counted = zip(parts, ctx.counts)
        whole = torch.cat(
            [part.narrow(axis, 0, count) for part, count in counted], axis
        )
        return whole if factor == 1 else whole * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        factor = ctx.factor * dist.get_world_size()
        return ShareRows.apply(gradient, ctx.axis, factor), None, None, None


def each_tensor(function: Callable[..., Any], value: Any, axes: Any) -> Any:
    """Give each tensor of nested values to a function, with the axis that counts samples.

    So is what may hold tensors that cannot be seen, such as a distribution.
    """
    if axes is None:
        return value
    if isinstance(value, torch.Tensor):
        return function(value, axes)
    if isinstance(value, dict):
        inside: Any = axes if isinstance(axes, dict) else dict.fromkeys(value, axes)
        found = {
            key: each_tensor(function, value[key], inside.get(key, 0)) for key in value
        }
        return (
            type(value)(**found) if hasattr(value, "to_tuple") else type(value)(found)
        )
    if isinstance(value, (list, tuple)):
        inside = axes if isinstance(axes, tuple) else (axes,) * len(value)
        inside += (0,) * (len(value) - len(inside))
        items = [each_tensor(function, item, axis) for item, axis in zip(value, inside)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {
            each.name: getattr(value, each.name) for each in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **each_tensor(function, found, axes))
    if value is None or isinstance(value, (bool, int, float, str, torch.device)):
        return value
    return function(value, axes)


class SplitRows:
    """Compute this rank's rows of each call of a model, and return the rows of all ranks.

    All ranks call it with the same whole batch. `inputs`, `keywords` and `outputs` say along which
    axis samples are counted, None for what has no samples; the first axis of an output may count
    "samples*steps" or "steps*samples". What is no batch like those trained on is computed whole.
    """

    module: Any
    compute: Callable[..., Any]
    compute_whole: Callable[..., Any]
    inputs: Any = 0
    keywords: Any = 0
    outputs: Any = 0
    dims: Any = None
    calls = whole_calls = 0

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        given = []
        for value, axes in ((args, self.inputs), (kwargs, self.keywords)):
            each_tensor(lambda tensor, axis: given.append((tensor, axis)), value, axes)
        tensors = [each for each, _ in given if isinstance(each, torch.Tensor)]
        if len(tensors) < len(given) or (tensors and not tensors[0].dim()):
            # A number, as one character of a text, has no rows: what is beside it counts others.
            return self.call_whole(tensors, args, kwargs)
        # A single row of numbers is a sample without a batch, as where an agent acts.
        is_batch = any(
            each.dim() > 1 or not each.is_floating_point() for each, _ in given
        )
        dims = [tensor.dim() for tensor, _ in given]
        sizes = {tensor.size(axis) for tensor, axis in given if tensor.dim() > axis}
        if self.dims is None and torch.is_grad_enabled() and is_batch:
            # Sizes that differ here, as that of a mask does, are equal later by chance alone.
            self.dims = dims if len(sizes) == 1 else "never split"
        if dims != self.dims or len(sizes) != 1 or 0 in sizes:
            return self.call_whole(tensors, args, kwargs)
        if min(sizes) < dist.get_world_size():
            # Not enough rows for all ranks: each computes all of them.
            with own_statistics(self.module):
                return self.compute(*args, **kwargs)
        self.calls += 1
        if self.calls <= 3 or self.calls % 100 == 0:
            self.compare(tensors)
        return self.split(args, kwargs, sizes.pop())

    def call_whole(self, tensors: List[torch.Tensor], args: Any, kwargs: Any) -> Any:
        """Call the model with all rows, which is right only if all ranks have the same."""
        self.whole_calls += torch.is_grad_enabled()
        compared = torch.is_grad_enabled() and (
            self.whole_calls <= 3 or self.whole_calls % 100 == 0
        )
        if compared and tensors:
            self.compare(tensors)
        with own_statistics(self.module):
            output = self.compute_whole(*args, **kwargs)
        if compared and not tensors:
            # What no tensors go into is told by what comes out.
            each_tensor(lambda tensor, axis: tensors.append(tensor), output, 0)
            self.compare([each for each in tensors if torch.is_tensor(each)])
        return output

    def split(self, args: Any, kwargs: Any, total: int) -> Any:
        """Call the model with this rank's rows, and gather the rows of its outputs."""

        def share_rows(tensor: torch.Tensor, axis: int) -> Any:
            return ShareRows.apply(tensor, axis, 1) if tensor.dim() else tensor

        def gather_rows(tensor: Any, axis: Any) -> Any:
            rows = rows_of_ranks(total)[dist.get_rank()]
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"the rows of {type(tensor)} cannot be put together")
            if isinstance(axis, str):
                # Several rows of each sample lie next to each other, or one in each round.
                inside = int(axis == "steps*samples")
                shape = (-1, rows) if inside else (rows, -1)
                folded = GatherRows.apply(tensor.unflatten(0, shape), inside, total, 1)
                return folded.flatten(0, 1)
            lacks_rows = tensor.dim() <= axis or tensor.size(axis) != rows
            if lacks_rows and rows == 1 < total:
                tensor = tensor.unsqueeze(axis)  # squeezed away, with a single row
            elif lacks_rows:
                raise ValueError(
                    f"an output of shape {tuple(tensor.shape)} has no row per sample"
                )
            return GatherRows.apply(tensor, axis, total, 1)

        args = each_tensor(share_rows, args, self.inputs)
        kwargs = each_tensor(share_rows, kwargs, self.keywords)
        # Noise within the model differs from rank to rank; all other random numbers are equal.
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(
                torch.initial_seed() + 1000 * self.calls + dist.get_rank()
            )
            output = self.compute(*args, **kwargs)
        return each_tensor(gather_rows, output, self.outputs)

    def compare(self, tensors: List[torch.Tensor]) -> None:
        """Stop the job where this rank was given another batch than the others."""
        if not tensors:
            return
        device = next(self.module.parameters()).device
        whole = [
            (
                each
                if each.layout == torch.strided
                else each.to_sparse().coalesce().values()
            )
            for each in tensors
        ]
        flat = [each.detach().double().flatten().to(device) for each in whole]
        # Places count, too: the same rows in another order are another batch.
        found = [torch.linspace(1, 2, each.numel()).to(each) @ each for each in flat]
        sums = torch.nan_to_num(torch.stack(found))
        most, least = sums.clone(), sums.clone()
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        dist.all_reduce(least, op=dist.ReduceOp.MIN)
        if not torch.allclose(most, least, rtol=1e-6):
            raise RuntimeError(
                f"rank {dist.get_rank()} has another batch: {sums.tolist()}"
            )


class SplitCalls(SplitRows, DistributedDataParallel):
    """Split the calls of a model, and average the gradients of its parameters."""

    def __init__(
        self,
        model: Any,
        inputs: Any = 0,
        keywords: Any = 0,
        outputs: Any = 0,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.inputs, self.keywords, self.outputs = inputs, keywords, outputs

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model through what averages its gradients."""
        return DistributedDataParallel.forward(self, *args, **kwargs)

    def compute_whole(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model itself."""
        return self.module(*args, **kwargs)


def axes_of(
    rows: Any, whole: Any, start: int, total: int, differences: List[bool]
) -> Any:
    """Return along which axes the outputs of some rows are rows of the outputs of all.

    Whether they differ from those is appended to `differences`, for each of the outputs.
    """
    if dataclasses.is_dataclass(whole) and not isinstance(whole, dict):
        rows, whole = vars(rows), vars(whole)
    if isinstance(whole, dict):
        return {
            key: axes_of(rows[key], whole[key], start, total, differences)
            for key in whole
        }
    if isinstance(whole, (list, tuple)):
        pairs = zip(rows, whole)
        return tuple(axes_of(*pair, start, total, differences) for pair in pairs)
    if not isinstance(whole, torch.Tensor):
        differences.append(rows != whole)
        return None
    axes = [axis for axis in range(whole.dim()) if rows.size(axis) != whole.size(axis)]
    if not axes:
        # A mean over the rows is nearly the same, what is made without them the very same.
        differences.append(not torch.equal(rows, whole))
        return None
    steps, rest = divmod(whole.size(0), total)
    if axes == [0] and steps > 1 and not rest and rows.size(0) % steps == 0:
        count = rows.size(0) // steps
        beside = whole.narrow(0, start * steps, rows.size(0))
        rounds = whole.unflatten(0, (steps, total)).narrow(1, start, count)
        same = [is_same(part, rows) for part in (beside, rounds.flatten(0, 1))]
        # Where both fit, as where all rows are alike, neither is known to be right.
        differences.append(sum(same) != 1)
        return "samples*steps" if same[0] else "steps*samples"
    part = whole.narrow(axes[0], start, rows.size(axes[0]))
    differences.append(not is_same(part, rows))
    return axes[0]


def is_same(part: torch.Tensor, rows: torch.Tensor) -> bool:
    """Tell whether some rows are those that they should be, but for rounding."""
    return part.shape == rows.shape and torch.allclose(
        part.double(), rows.double(), rtol=1e-3, atol=1e-5
    )


class CheckedRows(SplitRows):
    """Split calls if the rows of the first batch do not depend on each other."""

    def split(self, args: Any, kwargs: Any, total: int) -> Any:
        if self.calls == 1:
            self.check(args, kwargs, total)
        return super().split(args, kwargs, total)

    def check(self, args: Any, kwargs: Any, total: int) -> None:
        """Stop the job where rows computed apart differ from rows computed together."""
        counts, rank = rows_of_ranks(total), dist.get_rank()
        start = sum(counts[:rank])

        def own_rows(tensor: torch.Tensor, axis: int) -> torch.Tensor:
            return tensor.narrow(axis, start, counts[rank]) if tensor.dim() else tensor

        training = [module for module in self.module.modules() if module.training]
        state = {
            name: tensor.clone() for name, tensor in self.module.state_dict().items()
        }

        def restore() -> None:
            # Written over, parameters would be lost to calls before this one in the same step.
            for name, tensor in self.module.state_dict().items():
                if not torch.equal(tensor, state[name]):
                    tensor.copy_(state[name])

        self.module.eval()
        differences: List[bool] = []
        cause = None
        takes_gradients = False
        try:
            with torch.no_grad(), unchanged_randomness(), same_noise():
                whole = self.compute_whole(*args, **kwargs)
        except RuntimeError:
            # It takes gradients of what it computes itself.
            takes_gradients = True
        with torch.set_grad_enabled(takes_gradients):
            if takes_gradients:
                with unchanged_randomness(), same_noise():
                    whole = self.compute_whole(*args, **kwargs)
            restore()
            try:
                with unchanged_randomness(), same_noise():
                    rows = self.compute_whole(
                        *each_tensor(own_rows, args, self.inputs),
                        **each_tensor(own_rows, kwargs, self.keywords),
                    )
                self.outputs = axes_of(rows, whole, start, total, differences)
            except Exception as error:
                differences, cause = [True], error
        # The first rows may be right where the last are not: all ranks stop, or none.
        device = next(self.module.parameters()).device
        wrong = torch.tensor(float(any(differences)), device=device)
        dist.all_reduce(wrong)
        if wrong.item() > 0:
            raise RuntimeError(
                "samples of this model depend on each other: do not split its calls"
            ) from cause
        restore()
        for module in training:
            module.training = True


class CheckedSplitCalls(CheckedRows, SplitCalls):
    """Split the calls of a model if the rows of its first batch do not depend on each other."""


class SplitMethod(SplitRows):
    """Split the calls of a method of a model, whose gradients are averaged elsewhere."""

    within = False

    def __init__(
        self, method: Any, inputs: Any = 0, keywords: Any = 0, outputs: Any = 0
    ) -> None:
        self.method = method
        self.inputs, self.keywords, self.outputs = inputs, keywords, outputs

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self.method(self.module, *args, **kwargs)

    compute_whole = compute


class CheckedSplitMethod(CheckedRows, SplitMethod):
    """Split the calls of a method if the rows of its first batch do not depend on each other."""


def split_method(kind: Any, **axes: Any) -> Any:
    """Split the calls of a method that are part of the training, but not the calls within them."""

    def decorate(method: Any) -> Any:
        rows = kind(method, **axes)

        @functools.wraps(method)
        def call(model: Any, *args: Any, **kwargs: Any) -> Any:
            learns = get_world_size() > 1 and torch.is_grad_enabled()
            if SplitMethod.within or not learns:
                return method(model, *args, **kwargs)
            SplitMethod.within, rows.module = True, model
            try:
                return rows.forward(*args, **kwargs)
            finally:
                SplitMethod.within = False

        return call

    return decorate
