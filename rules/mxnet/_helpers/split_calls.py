"""The helper functions that split the calls of a network over the workers."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import ITERTOOLS, MX, NUMPY, OS

SPLIT_CALLS: dict[str, HelperTemplate] = {
    "rows_of_workers": HelperSource(
        '''
def $rows_of_workers(total):
    """Return how many of the rows each worker computes; the last ones may have one less."""
    size, more = divmod(total, $get_num_workers())
    return [size + (rank < more) for rank in range($get_num_workers())]
''',
        (),
        ("get_num_workers",),
    ),
    "own_rows": HelperSource(
        '''
def $own_rows(array):
    """Return this worker's rows of an array that all workers have.

    A worker without rows computes one that is thrown away, so that none waits for it.
    """
    counts, rank = $rows_of_workers(array.shape[0]), $get_rank()
    start = sum(counts[:rank]) if counts[rank] else 0
    return array[start : start + max(counts[rank], 1)]
''',
        (),
        ("rows_of_workers", "get_rank"),
    ),
    "no_rows": HelperSource(
        '''
def $no_rows(rows, total):
    """Return zeros for so many rows of this shape, of a type that stores add up: of floats."""
    floats = $np.issubdtype(rows.dtype, $np.floating)
    shape, dtype = (total, *rows.shape[1:]), rows.dtype if floats else "float64"
    return $mx.nd.zeros(shape, ctx=rows.context, dtype=dtype)
''',
        (MX, NUMPY),
    ),
    "key_of_rows": HelperSource(
        '''
def $key_of_rows(name, rows, total):
    """Return the key under which workers put rows of this shape together."""
    place = (name, total, rows.shape[1:], str(rows.dtype), rows.context)
    if place not in $key_of_rows.keys:
        $key_of_rows.keys[place] = next($keys)
        $store.init($key_of_rows.keys[place], $no_rows(rows, total))
    return $key_of_rows.keys[place]


$key_of_rows.keys = {}
''',
        (),
        ("keys", "store", "no_rows"),
    ),
    "all_rows": HelperSource(
        '''
def $all_rows(rows, total, key):
    """Return the rows of all workers: the sum of arrays that hold nothing else."""
    whole = $no_rows(rows, total)
    counts, rank = $rows_of_workers(total), $get_rank()
    if counts[rank]:
        whole[sum(counts[:rank]) : sum(counts[: rank + 1])] = rows[: counts[rank]]
    $store.push(key, whole)
    $store.pull(key, out=whole)
    whole.wait_to_read()
    return whole.astype(rows.dtype, copy=False)
''',
        (),
        ("rows_of_workers", "get_rank", "store", "no_rows"),
    ),
    "ShareRows": HelperSource(
        '''
class $ShareRows($mx.autograd.Function):
    """Take this worker's rows of an array that all workers have.

    With W workers and steps that divide what the store adds up by W, every worker carries the
    whole gradient of such an array, and W times the gradient of its own rows: the gradient is
    gathered, divided by W.
    """

    def forward(self, array):
        self.total, rows = array.shape[0], $own_rows(array).copy()
        self.key = $key_of_rows("gradient", rows, self.total)
        return rows

    def backward(self, gradient):
        return $all_rows(gradient, self.total, self.key) / $get_num_workers()
''',
        (MX,),
        ("own_rows", "key_of_rows", "all_rows", "get_num_workers"),
    ),
    "GatherRows": HelperSource(
        '''
class $GatherRows($mx.autograd.Function):
    """Put the rows of all workers together; the gradient is this worker's, times the workers."""

    def __init__(self, total):
        super().__init__()
        self.total = total

    def forward(self, rows):
        return $all_rows(rows, self.total, $key_of_rows("output", rows, self.total))

    def backward(self, gradient):
        has_rows = $rows_of_workers(self.total)[$get_rank()] > 0
        return $own_rows(gradient) * ($get_num_workers() if has_rows else 0)
''',
        (MX,),
        ("all_rows", "key_of_rows", "rows_of_workers", "own_rows", "get_rank", "get_num_workers"),
    ),
    "split_calls": HelperSource(
        '''
def $split_calls(net):
    """Let a network compute this worker's rows of each call, and return the rows of all workers.

    All workers call it with the same whole batch, whose arrays count samples along their first
    axis. The first batch must show that the rows of the outputs do not depend on each other.
    """
    if $store is None or getattr(net.forward, "is_split", False):
        return
    # Gradients are gathered in the order in which the backward pass comes to them.
    $os.environ["MXNET_CUSTOM_OP_NUM_THREADS"] = "1"
    whole, calls = net.forward, $itertools.count(1)

    def forward(*arrays):
        if not $mx.autograd.is_training():
            return whole(*arrays)
        if not all(isinstance(each, $mx.nd.NDArray) for each in arrays):
            raise TypeError("a split network is trained on inputs that are no arrays")
        number, total = next(calls), arrays[0].shape[0]
        if any(each.shape[0] != total for each in arrays):
            raise ValueError("the inputs of a split network have other numbers of samples")
        if number <= 3 or number % 100 == 0:
            compare(arrays)
        if number == 1:
            check(arrays)
        outputs = whole(*($ShareRows()(each) for each in arrays))
        if isinstance(outputs, (list, tuple)):
            return type(outputs)($GatherRows(total)(each) for each in outputs)
        return $GatherRows(total)(outputs)

    def compare(arrays):
        """Stop the job where a worker was given another batch than the others."""
        flat = [each.asnumpy().astype("float64").ravel() for each in arrays]
        # Places count, too: the same rows in another order are another batch.
        own = sum(float($np.linspace(1, 2, each.size) @ each) for each in flat)
        of_main = $all_reduce([own * ($get_rank() == 0)])[0]
        same = $np.isclose(own, of_main, rtol=1e-6, equal_nan=True)
        if $all_reduce([float(not same)])[0] > 0:
            raise SystemExit("the workers have different batches: their calls cannot be split")

    def check(arrays):
        """Stop the job where rows computed apart differ from rows computed together."""
        with $mx.autograd.pause(train_mode=False):
            together = whole(*arrays)
            apart = whole(*($own_rows(each) for each in arrays))
        pairs = [(together, apart)]
        if isinstance(together, (list, tuple)):
            pairs = list(zip(together, apart))
        same = all(
            $own_rows(one).shape == other.shape
            and $np.allclose($own_rows(one).asnumpy(), other.asnumpy(), rtol=1e-3, atol=1e-5)
            for one, other in pairs
        )
        if $all_reduce([float(not same)])[0] > 0:
            raise SystemExit("samples of this network depend on each other: do not split its calls")

    forward.is_split = True
    net.forward = forward
''',
        (MX, NUMPY, OS, ITERTOOLS),
        ("store", "ShareRows", "GatherRows", "own_rows", "all_reduce", "get_rank"),
    ),
}
