"""The helper functions that connect the workers, and for what one of them does alone."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.tensorflow._helpers.names import (
    ATEXIT,
    CONTEXTMANAGER,
    JSON,
    LOGGING,
    MULTIPROCESSING,
    NUMPY,
    OS,
    RANDOM,
    SHUTIL,
    SYS,
    TEMPFILE,
    TF,
)

WORKERS: dict[str, HelperTemplate] = {
    "choose_gpu": HelperSource(
        '''
def $choose_gpu(task, addresses):
    """Leave each worker of a machine a GPU of its own."""
    hosts = [address.rpartition(":")[0] for address in addresses]
    gpus = $tf.config.list_physical_devices("GPU")
    if len(gpus) > 1:
        position = hosts[:task].count(hosts[task])
        $tf.config.set_visible_devices(gpus[position % len(gpus)], "GPU")
        if hosts.count(hosts[task]) < len(gpus):
            print("each worker uses one GPU: start one for each GPU", file=$sys.stderr)
''',
        (SYS, TF),
    ),
    "connect_workers": HelperSource(
        '''
def $connect_workers():
    """Connect the workers that TF_CONFIG names; return None where this is the only process."""
    config = $json.loads($os.environ.get("TF_CONFIG") or "{}")
    jobs = config.get("cluster", {})
    workers = [*jobs.get("chief", ()), *jobs.get("worker", ())]
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    if not workers and any(int(count or 1) > 1 for count in counts):
        raise SystemExit("several tasks but no TF_CONFIG: set it for each of them")
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", len(workers) or 1))
    if expected != (len(workers) or 1):
        raise SystemExit(f"{len(workers) or 1} workers started, {expected} expected")
    if len(workers) < 2 or $multiprocessing.current_process().name != "MainProcess":
        return None
    kind, index = config["task"]["type"], int(config["task"]["index"])
    if kind not in ("chief", "worker"):
        raise SystemExit(f"this script trains on workers alone, it has no use for a task {kind}")
    $choose_gpu(index + (kind == "worker") * len(jobs.get("chief", ())), workers)
    return $tf.distribute.MultiWorkerMirroredStrategy()
''',
        (JSON, MULTIPROCESSING, OS, TF),
        ("choose_gpu",),
    ),
    "strategy": HelperSource("$strategy = $connect_workers()", (), ("connect_workers",)),
    "get_rank": HelperSource(
        '''
def $get_rank():
    """Return the place of this worker among all of them."""
    if $strategy is None:
        return 0
    resolver = $tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "worker" and "chief" in resolver.cluster_spec().jobs:
        return resolver.task_id + 1
    return resolver.task_id
''',
        (TF,),
        ("strategy",),
    ),
    "get_world_size": HelperSource(
        '''
def $get_world_size():
    """Return the number of workers; 1 without a launcher."""
    return $strategy.num_replicas_in_sync if $strategy is not None else 1
''',
        (),
        ("strategy",),
    ),
    "scale_learning_rate": HelperSource(
        '''
def $scale_learning_rate(rate):
    """Return a learning rate for a batch that grows with the number of workers."""
    return rate * $get_world_size()
''',
        (),
        ("get_world_size",),
    ),
    "scale_learning_rate_by_root": HelperSource(
        '''
def $scale_learning_rate_by_root(rate):
    """Return a learning rate for a batch that grows with the number of workers."""
    return rate * $get_world_size() ** 0.5
''',
        (),
        ("get_world_size",),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this is the worker that alone writes files and prints."""
    return $get_rank() == 0
''',
        (),
        ("get_rank",),
    ),
    "add_up": HelperSource(
        '''
def $add_up(tensors):
    """Return the sums of tensors over all workers."""

    def all_reduce(values):
        context = $tf.distribute.get_replica_context()
        sums = [None] * len(values)
        for dtype in dict.fromkeys(value.dtype for value in values):
            same = [index for index, value in enumerate(values) if value.dtype == dtype]
            added = context.all_reduce("SUM", [$tf.identity(values[index]) for index in same])
            for index, value in zip(same, added):
                sums[index] = value
        return sums

    return $strategy.run(all_reduce, args=(list(tensors),))
''',
        (TF,),
        ("strategy",),
    ),
    "wait_for_workers": HelperSource(
        '''
def $wait_for_workers():
    """Wait until every worker has come here."""
    if $strategy is not None:
        $add_up([$tf.constant(1)])
''',
        (TF,),
        ("strategy", "add_up"),
    ),
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let the workers in one after the other."""
    for turn in range($get_world_size()):
        if turn == $get_rank():
            yield
        $wait_for_workers()
''',
        (CONTEXTMANAGER,),
        ("get_rank", "get_world_size", "wait_for_workers"),
    ),
    "agree": HelperSource(
        '''
def $agree():
    """Let all workers draw the same random numbers, and one of them alone speak."""
    if $strategy is None:
        return
    drawn = $random.randrange(2**30) if $is_main_process() else 0
    seed = int($add_up([$tf.constant(drawn)])[0])
    $random.seed(seed)
    $np.random.seed(seed)
    $tf.random.set_seed(seed)
    if not $is_main_process():
        $sys.stdout = open($os.devnull, "w")
        $logging.disable($logging.INFO)


$agree()
''',
        (LOGGING, NUMPY, OS, RANDOM, SYS, TF),
        ("strategy", "add_up", "is_main_process"),
    ),
    "path_of_this_worker": HelperSource(
        '''
def $path_of_this_worker(path):
    """Return the path on the worker that writes files, one that is thrown away on all others."""
    if $is_main_process():
        return path
    folder = $tempfile.mkdtemp()
    $atexit.register($shutil.rmtree, folder, ignore_errors=True)
    return $os.path.join(folder, $os.path.basename($os.fspath(path).rstrip("/")))
''',
        (ATEXIT, OS, SHUTIL, TEMPFILE),
        ("is_main_process",),
    ),
    "backup_of_this_worker": HelperSource(
        '''
def $backup_of_this_worker(folder):
    """Return the folder of this worker's own backup, all of which hold the same."""
    return folder if $is_main_process() else f"{$os.fspath(folder)}-{$get_rank()}"
''',
        (OS,),
        ("is_main_process", "get_rank"),
    ),
}
