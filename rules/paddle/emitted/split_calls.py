"""The wrap that splits the calls of a model over the processes, and what it is made of."""

import dataclasses
import sys
from contextlib import contextmanager

import paddle
import paddle.distributed as dist


def rows_of_ranks(total):
    """Return how many of the rows each rank computes; the last ranks may have one less."""
    size, more = divmod(total, dist.get_world_size())
    return [size + (rank < more) for rank in range(dist.get_world_size())]


def own_rows(tensor):
    """Return this rank's rows of a tensor that all ranks have.

    A rank without rows computes one that is thrown away, so that no collective misses it.
    """
    counts, rank = rows_of_ranks(tensor.shape[0]), dist.get_rank()
    start = sum(counts[:rank]) if counts[rank] else 0
    return tensor[start : start + max(counts[rank], 1)]


def all_rows(rows, total):
    """Return the rows of all ranks, given this rank's."""
    if rows.dtype == paddle.bool:
        return all_rows(rows.astype("int32"), total).astype("bool")
    counts = rows_of_ranks(total)
    padding = max(counts) - rows.shape[0]
    if padding > 0:
        rows = paddle.concat([rows, rows[:padding]])
    parts = []
    dist.all_gather(parts, rows.clone())  # collectives of Paddle 3 take no views
    return paddle.concat([part[:count] for part, count in zip(parts, counts)])


class ShareRows(paddle.autograd.PyLayer):
    """Take this rank's rows of a tensor that all ranks have.

    With W ranks and the mean that DataParallel takes, every rank carries the whole gradient of
    such a tensor, and W times the gradient of its own rows. So the gradient is gathered, divided
    by W; written with GatherRows, it can be differentiated again.
    """

    @staticmethod
    def forward(ctx, tensor, factor):
        ctx.total, ctx.factor = tensor.shape[0], factor
        return own_rows(tensor) * factor

    @staticmethod
    def backward(ctx, gradient):
        return GatherRows.apply(gradient, ctx.total, ctx.factor / dist.get_world_size())


class GatherRows(paddle.autograd.PyLayer):
    """Put the rows of all ranks together; the gradient is this rank's rows, times the ranks."""

    @staticmethod
    def forward(ctx, rows, total, factor):
        ctx.total, ctx.factor = total, factor
        return all_rows(rows, total) * factor

    @staticmethod
    def backward(ctx, gradient):
        factor = ctx.factor * dist.get_world_size()
        if rows_of_ranks(ctx.total)[dist.get_rank()] == 0:
            factor = 0
        return ShareRows.apply(gradient, factor)


def each_tensor(function, value):
    """Give each tensor of nested values to a function.

    So is what may hold tensors that cannot be seen, such as a distribution.
    """
    if isinstance(value, dict):
        return type(value)(
            {key: each_tensor(function, item) for key, item in value.items()}
        )
    if isinstance(value, (list, tuple)):
        items = [each_tensor(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value):
        fields = [each.name for each in dataclasses.fields(value)]
        found = {name: each_tensor(function, getattr(value, name)) for name in fields}
        return dataclasses.replace(value, **found)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return function(value)


def tensors_in(value):
    """Return the tensors of nested values, and what may hold some."""
    found = []
    each_tensor(found.append, value)
    return found


def axis_of_rows(whole, rows):
    """Return along which axis rows of an output are fewer than all; None if it has no rows."""
    axes = [axis for axis in range(whole.ndim) if whole.shape[axis] != rows.shape[axis]]
    # A single row is all of them.
    return axes[0] if axes else 0 if whole.ndim and whole.shape[0] == 1 else None


def differ(whole, rows, axis):
    """Tell whether this rank's rows of an output are others than those computed apart."""
    if axis is None:
        # A mean over the rows is nearly the same, what is made without them the very same.
        return whole.shape != rows.shape or not paddle.equal_all(whole, rows)
    whole = paddle.moveaxis(own_rows(paddle.moveaxis(whole, axis, 0)), 0, axis)
    return whole.shape != rows.shape or not paddle.allclose(
        whole.astype("float64"), rows.astype("float64"), 1e-3, 1e-5
    )


@contextmanager
def unchanged_randomness():
    """Leave random numbers where they are, so that what follows draws the same once more."""
    plain, numpy = sys.modules["random"], sys.modules.get("numpy")
    drawn = plain.getstate(), numpy and numpy.random.get_state()
    devices = ["cpu", *["gpu"] * paddle.get_device().startswith("gpu")]
    states = [paddle.get_rng_state(device) for device in devices]
    try:
        yield
    finally:
        plain.setstate(drawn[0])
        if numpy:
            numpy.random.set_state(drawn[1])
        for state, device in zip(states, devices):
            paddle.set_rng_state(state, device)


class SplitCalls(paddle.DataParallel):
    """Compute this rank's rows of each call of a model, and return the rows of all ranks.

    All ranks call it with the same whole batch, whose tensors count samples along their first
    axis. What is no batch like those of the training is computed whole by every rank. The first
    batch must show that the rows of the outputs do not depend on each other, and along which axis
    outputs count samples.
    """

    def __init__(self, model, **options):
        super().__init__(model, **options)
        self.dims, self.axes, self.calls, self.whole_calls = None, [], 0, 0

    def forward(self, *args, **kwargs):
        tensors = tensors_in([args, kwargs])
        if not all(isinstance(each, paddle.Tensor) for each in tensors):
            return self.call_whole([], args, kwargs)
        # A single row of numbers is a sample without a batch, as where an agent acts.
        is_batch = any(
            each.ndim > 1 or not each.is_floating_point() for each in tensors
        )
        dims = [each.ndim for each in tensors]
        sizes = {each.shape[0] for each in tensors if each.ndim}
        if self.dims is None and paddle.is_grad_enabled() and is_batch:
            # Sizes that differ here, as that of a mask does, are equal later by chance alone.
            self.dims = dims if len(sizes) == 1 else "never split"
        if dims != self.dims or len(sizes) != 1 or 0 in sizes:
            return self.call_whole(tensors, args, kwargs)
        self.calls += 1
        if self.calls <= 3 or self.calls % 100 == 0:
            self.compare(tensors)
        if self.calls == 1:
            self.check(args, kwargs)
        return self.split(args, kwargs, tensors)

    def call_whole(self, tensors, args, kwargs):
        """Call the model with all rows, which is right only if all ranks have the same."""
        if paddle.is_grad_enabled():
            if not tensors:
                raise ValueError(
                    "a split model is trained on inputs that are no tensors"
                )
            self.whole_calls += 1
            if self.whole_calls <= 3 or self.whole_calls % 100 == 0:
                self.compare(tensors)
        return self._layers(*args, **kwargs)

    def split(self, args, kwargs, tensors):
        """Call the model with this rank's rows, and gather the rows of its outputs."""
        total = next(each.shape[0] for each in tensors if each.ndim)
        rows = max(rows_of_ranks(total)[dist.get_rank()], 1)
        axes = list(self.axes)

        def share_rows(tensor):
            if tensor.ndim == 0:
                return tensor
            return (
                own_rows(tensor)
                if tensor.stop_gradient
                else ShareRows.apply(tensor, 1.0)
            )

        def gather_rows(tensor):
            if not isinstance(tensor, paddle.Tensor):
                raise TypeError(f"the rows of {type(tensor)} cannot be put together")
            axis = axes.pop(0) if axes else 0
            if axis is None:
                return tensor
            if tensor.ndim <= axis or tensor.shape[axis] != rows:
                raise ValueError(
                    f"an output of shape {tensor.shape} has no row per sample"
                )
            tensor = paddle.moveaxis(tensor, axis, 0)
            if tensor.stop_gradient:
                return paddle.moveaxis(all_rows(tensor, total), 0, axis)
            return paddle.moveaxis(GatherRows.apply(tensor, total, 1.0), 0, axis)

        # Noise within the model differs from rank to rank; all other random numbers are equal.
        devices = ["cpu", *["gpu"] * paddle.get_device().startswith("gpu")]
        states = [paddle.get_rng_state(device) for device in devices]
        seed = paddle.randint(0, 2**30, [1]).item()
        paddle.seed(seed + 1000 * self.calls + dist.get_rank())
        output = super().forward(
            *each_tensor(share_rows, args), **each_tensor(share_rows, kwargs)
        )
        for state, device in zip(states, devices):
            paddle.set_rng_state(state, device)
        return each_tensor(gather_rows, output)

    def compare(self, tensors):
        """Stop the job where this rank was given another batch than the others."""
        flat = [each.detach().astype("float64").flatten() for each in tensors]
        # Places count, too: the same rows in another order are another batch.
        found = [
            (each * paddle.linspace(1, 2, each.shape[0], "float64")).sum()
            for each in flat
        ]
        sums = paddle.nan_to_num(paddle.stack(found))
        most, least = sums.clone(), sums.clone()
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        dist.all_reduce(least, op=dist.ReduceOp.MIN)
        if not paddle.allclose(most, least, rtol=1e-6):
            raise RuntimeError(
                f"rank {dist.get_rank()} has another batch: {sums.tolist()}"
            )

    def check(self, args, kwargs):
        """Stop the job where rows computed apart differ from rows computed together."""
        training = [
            each for each in self._layers.sublayers(include_self=True) if each.training
        ]
        state = {
            name: tensor.clone() for name, tensor in self._layers.state_dict().items()
        }
        self._layers.eval()
        cause = None
        with paddle.no_grad():
            with unchanged_randomness():
                whole = tensors_in(self._layers(*args, **kwargs))
            for each in whole:
                if not isinstance(each, paddle.Tensor):
                    raise TypeError(
                        f"the rows of {type(each)} cannot be put together: have "
                        "the model give back tensors"
                    )
            try:
                own = [
                    each_tensor(
                        lambda tensor: own_rows(tensor) if tensor.ndim else tensor, each
                    )
                    for each in (args, kwargs)
                ]
                with unchanged_randomness():
                    rows = tensors_in(self._layers(*own[0], **own[1]))
                self.axes = [
                    axis_of_rows(one, other) for one, other in zip(whole, rows)
                ]
                wrong = len(rows) != len(whole) or any(
                    differ(one, other, axis)
                    for one, other, axis in zip(whole, rows, self.axes)
                )
            except Exception as error:
                wrong, cause = True, error
        # The first rows may be right where the last are not: all ranks stop, or none.
        wrong = paddle.to_tensor(float(wrong))
        dist.all_reduce(wrong)
        if float(wrong) > 0:
            raise RuntimeError(
                "samples of this model depend on each other, or it takes no other "
                "number of them: do not split its calls"
            ) from cause
        self._layers.set_state_dict(state)
        for layer in training:
            layer.training = True
