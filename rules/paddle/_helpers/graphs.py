"""The helper functions for static graphs."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import DIST, NUMPY, PADDLE

GRAPHS: dict[str, HelperTemplate] = {
    "minimize_together": HelperSource(
        '''
def $minimize_together(optimizer, *arguments, **options):
    """Minimise by gradients that are averaged over all processes."""
    if $dist.get_world_size() == 1:
        return optimizer.minimize(*arguments, **options)
    if not getattr($paddle.framework, "in_pir_mode", bool)():
        raise SystemExit("this static graph is not of Paddle 3: convert with --paddle-api fleet")
    averaged = []
    for parameter, gradient in optimizer.backward(*arguments, **options):
        $dist.all_reduce(gradient)
        averaged.append((parameter, gradient / $dist.get_world_size()))
    return optimizer.apply_gradients(averaged), averaged
''',
        (DIST, PADDLE),
    ),
    "average_fetched": HelperSource(
        '''
def $average_fetched(variable):
    """Return a variable for the mean of another over all processes; itself for one process."""
    if $dist.get_world_size() == 1:
        return variable
    if variable.get_defining_op().name() == "pd_op.accuracy":
        # It computes float32, whatever type its graph names.
        variable = variable.astype("float32")
    total = $paddle.assign(variable)
    $dist.all_reduce(total)
    return total / $dist.get_world_size()
''',
        (DIST, PADDLE),
    ),
    "shard_feed": HelperSource(
        '''
def $shard_feed(feed):
    """Return this process's rows of every array that is fed, padded to equal shares."""
    world_size = $dist.get_world_size()
    if world_size == 1:
        return feed
    if any(getattr(rows, "lod", list)() for rows in feed.values()):
        raise SystemExit("sequences of different lengths are fed: feed padded arrays")
    arrays = {name: $np.asarray(rows) for name, rows in feed.items()}
    sizes = {len(rows) for rows in arrays.values()}
    if len(sizes) != 1:
        raise SystemExit(f"arrays of {sorted(sizes)} rows are fed: they cannot be sharded")
    size = sizes.pop()
    largest = max(size, getattr($shard_feed, "largest", 0))
    $shard_feed.largest = largest
    if size == largest:
        $split_batch(size)
    share = -(-size // world_size)
    start = share * $dist.get_rank()
    return {
        name: $np.resize(rows, (share * world_size, *rows.shape[1:]))[start : start + share]
        for name, rows in arrays.items()
    }
''',
        (DIST, NUMPY),
        ("split_batch",),
    ),
    "vary_graph_noise": HelperSource(
        '''
def $vary_graph_noise():
    """Let every process but that of rank 0 draw noise of its own in its graph."""
    if $dist.get_rank() > 0:
        $paddle.seed($dist.get_rank())
''',
        (DIST, PADDLE),
    ),
}
