"""The helper functions for the ranks of workers, and for what one of them does alone."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import CONTEXTMANAGER, LOGGING, MX

WORKERS: dict[str, HelperTemplate] = {
    "get_rank": HelperSource(
        '''
def $get_rank():
    """Return the rank of this worker."""
    return $store.rank if $store is not None else 0
''',
        (),
        ("store",),
    ),
    "get_num_workers": HelperSource(
        '''
def $get_num_workers():
    """Return the number of workers; 1 without a launcher."""
    return $store.num_workers if $store is not None else 1
''',
        (),
        ("store",),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this is the worker with rank 0, which alone writes files and prints."""
    return $get_rank() == 0
''',
        (),
        ("get_rank",),
    ),
    "print_once": HelperSource(
        '''
def $print_once(*args, **kwargs):
    """Print on the worker with rank 0 alone."""
    if $is_main_process():
        print(*args, **kwargs)
''',
        (),
        ("is_main_process",),
    ),
    "quiet_logging": HelperSource(
        '''
def $quiet_logging():
    """Switch messages below a warning off in all workers but that with rank 0."""
    if not $is_main_process():
        $logging.disable($logging.INFO)


$quiet_logging()
''',
        (LOGGING,),
        ("is_main_process",),
    ),
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let the workers in one after the other, that with rank 0 first."""
    for turn in range($get_num_workers()):
        if turn == $get_rank():
            yield
        if $store is not None:
            $store._barrier()
''',
        (CONTEXTMANAGER,),
        ("get_rank", "get_num_workers", "store"),
    ),
    "wait_for_workers": HelperSource(
        '''
def $wait_for_workers():
    """Wait until every worker has come here."""
    if $store is not None:
        $store._barrier()
''',
        (),
        ("store",),
    ),
    "leave_together": HelperSource(
        '''
def $leave_together():
    """Wait until all that this worker has sent has arrived, and all workers have come here."""
    if $store is not None:
        $mx.nd.waitall()
        $store._barrier()
''',
        (MX,),
        ("store",),
    ),
    "on_main_process": HelperSource(
        '''
def $on_main_process(callback):
    """Return a callback that does what it did on the worker with rank 0, and nothing elsewhere."""

    def read_metric(*args):
        # All workers read it: together they count.
        metric = getattr(args[0], "eval_metric", None)
        return metric and metric.get_name_value()

    return callback if $is_main_process() else read_metric
''',
        (),
        ("is_main_process",),
    ),
    "use_store": HelperSource(
        '''
def $use_store(kind):
    """Return the store that the workers share; without a launcher one of the kind asked for."""
    if $store is None:
        return $mx.kv.create(kind)
    if "dist" in kind and kind != $store.type:
        raise SystemExit(f"this script was converted for {$store.type}, not for {kind}")
    return $store
''',
        (MX,),
        ("store",),
    ),
    "split_batch": HelperSource(
        '''
def $split_batch(batch_size):
    """Return this worker's share of a batch that all workers take together."""
    workers = $get_num_workers()
    if batch_size % workers != 0:
        nearest = max(1, round(batch_size / workers)) * workers
        raise SystemExit(
            f"batch size {batch_size} is not divisible by {workers} workers: "
            f"the nearest that is: {nearest}"
        )
    return batch_size // workers
''',
        (),
        ("get_num_workers",),
    ),
    "times_devices": HelperSource(
        '''
def $times_devices(number, devices):
    """Return a number that counts for each device of a worker, for all of them together."""
    return number * devices if $store is not None else number
''',
        (),
        ("store",),
    ),
    "scale_learning_rate": HelperSource(
        '''
def $scale_learning_rate(learning_rate):
    """Return the learning rate for the batch of all workers together."""
    return learning_rate * $get_num_workers()
''',
        (),
        ("get_num_workers",),
    ),
    "scale_learning_rate_by_root": HelperSource(
        '''
def $scale_learning_rate_by_root(learning_rate):
    """Return the learning rate for the batch of all workers together."""
    return learning_rate * $get_num_workers() ** 0.5
''',
        (),
        ("get_num_workers",),
    ),
}
