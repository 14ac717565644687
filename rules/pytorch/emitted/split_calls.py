"""The wrap that splits the calls of a model over the processes, and what it is made of."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def rows_of_ranks(total):
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
    def forward(ctx, tensor, axis, factor):
        ctx.axis, ctx.total, ctx.factor = axis, tensor.size(axis), factor
        counts, rank = rows_of_ranks(ctx.total), dist.get_rank()
        # A rank without rows computes one that is thrown away, so that no collective misses it.
        rows = tensor.narrow(axis, sum(counts[:rank]) if counts[rank] else 0, counts[rank] or 1)
        return rows.clone() if factor == 1 else rows * factor

    @staticmethod
    def backward(ctx, gradient):
        factor = ctx.factor / dist.get_world_size()
        return GatherRows.apply(gradient, ctx.axis, ctx.total, factor), None, None


class GatherRows(torch.autograd.Function):
    """Put the rows of all ranks together; the gradient is this rank's rows, times the ranks."""

    @staticmethod
    def forward(ctx, rows, axis, total, factor):
        ctx.axis, ctx.factor, ctx.counts = axis, factor, rows_of_ranks(total)
        padding = max(ctx.counts) - rows.size(axis)
        if padding > 0:
            rows = torch.cat([rows, rows.narrow(axis, 0, padding)], axis)
        parts = [torch.empty_like(rows.contiguous()) for _ in ctx.counts]
        dist.all_gather(parts, rows.contiguous())
        counted = zip(parts, ctx.counts)
        whole = torch.cat([part.narrow(axis, 0, count) for part, count in counted], axis)
        return whole if factor == 1 else whole * factor

    @staticmethod
    def backward(ctx, gradient):
        factor = ctx.factor * dist.get_world_size() if ctx.counts[dist.get_rank()] else 0
        return ShareRows.apply(gradient, ctx.axis, factor), None, None, None


def each_tensor(function, value, axes):
    """Give each tensor of nested values to a function, with the axis that counts samples."""
    if axes is None:
        return value
    if isinstance(value, torch.Tensor):
        return function(value, axes) if value.dim() else value
    if isinstance(value, dict):
        found = {
            key: each_tensor(function, item, axes.get(key) if isinstance(axes, dict) else axes)
            for key, item in value.items()
        }
        return type(value)(**found) if hasattr(value, "to_tuple") else type(value)(found)
    if isinstance(value, (list, tuple)):
        inside = axes if isinstance(axes, (list, tuple)) else [axes] * len(value)
        items = [each_tensor(function, item, axis) for item, axis in zip(value, inside)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class SplitCalls(DistributedDataParallel):
    """Compute this rank's rows of each call of a model, and return the rows of all ranks.

    All ranks call it with the same whole batch. `inputs`, `keywords` and `outputs` say along which
    axis samples are counted, None for what has no samples.
    """

    def __init__(self, model, inputs=0, keywords=0, outputs=0, **options):
        super().__init__(model, **options)
        self.inputs, self.keywords, self.outputs, self.calls = inputs, keywords, outputs, 0

    def forward(self, *args, **kwargs):
        shapes = []
        each_tensor(lambda tensor, axis: shapes.append(tensor.size(axis)), args, self.inputs)
        each_tensor(lambda tensor, axis: shapes.append(tensor.size(axis)), kwargs, self.keywords)
        if len(set(shapes)) != 1 or shapes[0] == 0:
            raise ValueError(f"the inputs of a split call count {shapes} samples, not equally many")
        self.calls += 1
        if self.calls <= 3:
            self.compare(args, kwargs)
        args = each_tensor(share_rows, args, self.inputs)
        kwargs = each_tensor(share_rows, kwargs, self.keywords)
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        # Noise within the model differs from rank to rank, all other random numbers are equal.
        with torch.random.fork_rng(devices):
            torch.manual_seed(torch.initial_seed() + 1000 * self.calls + dist.get_rank())
            output = super().forward(*args, **kwargs)
        own = max(rows_of_ranks(shapes[0])[dist.get_rank()], 1)

        def gather_rows(tensor, axis):
            if tensor.size(axis) != own:
                raise ValueError(f"no row for each sample in an output of shape {tensor.shape}")
            return GatherRows.apply(tensor, axis, shapes[0], 1)

        return each_tensor(gather_rows, output, self.outputs)

    def compare(self, args, kwargs):
        """Stop the job where this rank was given another batch than the others."""
        sums = []
        each_tensor(lambda tensor, axis: sums.append(tensor.double().sum()), args, 0)
        each_tensor(lambda tensor, axis: sums.append(tensor.double().sum()), kwargs, 0)
        sums = torch.nan_to_num(torch.stack(sums).detach())
        most, least = sums.clone(), sums.clone()
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        dist.all_reduce(least, op=dist.ReduceOp.MIN)
        if not torch.allclose(most, least, rtol=1e-6):
            raise RuntimeError(f"rank {dist.get_rank()} draws another batch: {sums.tolist()}")


def share_rows(tensor, axis):
    """Return this rank's rows of a tensor that all ranks have."""
    return ShareRows.apply(tensor, axis, 1)
