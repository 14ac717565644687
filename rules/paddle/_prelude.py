"""The helper functions that Paddle conversions insert, in the order in which they are written.

Each works in one process without a launcher, so that the script stays a plain script:
``paddle.distributed.get_rank`` and ``get_world_size`` answer there, too.
"""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._evaluation_helpers import EVALUATION

DIST = ("dist", "paddle.distributed")
FLEET = ("fleet", "paddle.distributed.fleet")
OS = ("os", "os")
PADDLE = ("paddle", "paddle")
NUMPY = ("np", "numpy")
RANDOM = ("random", "random")
CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
DATA_LOADER = ("DataLoader", "paddle.io.DataLoader")
BATCH_SAMPLER = ("BatchSampler", "paddle.io.BatchSampler")
DISTRIBUTED_SAMPLER = ("DistributedBatchSampler", "paddle.io.DistributedBatchSampler")
ITERABLE = ("IterableDataset", "paddle.io.IterableDataset")

SETUP = '''
def $setup_distributed():
    """Join the processes that the launcher started; stay one process without one."""
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    launched = "PADDLE_TRAINER_ID" in $os.environ
    if not launched and any(int(count or 1) > 1 for count in counts):
        raise SystemExit("several tasks: start this with python -m paddle.distributed.launch")
    if launched and "PADDLE_TRAINERS_NUM" not in $os.environ:
        raise SystemExit("PADDLE_TRAINER_ID is set but not PADDLE_TRAINERS_NUM: use the launcher")
    world_size = $dist.get_world_size()
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", world_size))
    if expected != world_size:
        raise SystemExit(f"{world_size} processes started, {expected} expected")
    if world_size > 1:
        @join
'''


def set_up(options: Options) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen interface."""
    if options.paddle_api == "fleet":
        join, modules = "$fleet.init(is_collective=True)", (DIST, FLEET, OS)
        return HelperSource(SETUP.replace("@join", join), modules)
    return HelperSource(SETUP.replace("@join", "$dist.init_parallel_env()"), (DIST, OS))


def shard_batches(options: Options) -> HelperSource:
    """The helper ``shard_batches``: the processes share a batch, or each takes one."""
    share, word = "$split_batch(batch_size)", "its share of each batch"
    helpers: tuple[str, ...] = ("split_batch",)
    if options.batch_size == "per-device":
        share, word, helpers = "batch_size", "a shard", ()
    return HelperSource(
        f'''
def $shard_batches(dataset, batch_size=1, shuffle=False):
    """Return a batch sampler that gives each process {word} of a dataset."""
    if $dist.get_world_size() == 1:
        return $BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size)
    return $DistributedBatchSampler(dataset, {share}, shuffle=shuffle)
''',
        (DIST, BATCH_SAMPLER, DISTRIBUTED_SAMPLER),
        helpers,
    )


def shard_whole_batches(options: Options) -> HelperSource:
    """The helper ``shard_whole_batches``, for loaders that drop what fills no batch."""
    grown = ""
    if options.batch_size == "per-device":
        grown = "    batch_size *= $dist.get_world_size()\n"
    return HelperSource(
        f'''
def $shard_whole_batches(dataset, batch_size=1, shuffle=False, drop_last=True):
    """Return a batch sampler of this process's share of each batch that is dealt out."""
{grown}    return $share_batches(
        $BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
    )
''',
        (DIST, BATCH_SAMPLER) if grown else (BATCH_SAMPLER,),
        ("share_batches",),
    )


HELPERS: dict[str, HelperTemplate] = {
    "dynamic_graph": HelperSource(
        '''
@$contextmanager
def $dynamic_graph():
    """Leave static graph mode for as long as the processes talk to each other."""
    static = not $paddle.in_dynamic_mode()
    if static:
        $paddle.disable_static()
    try:
        yield
    finally:
        if static:
            $paddle.enable_static()
''',
        (CONTEXTMANAGER, PADDLE),
    ),
    "wait_for_all": HelperSource(
        '''
@$dynamic_graph()
def $wait_for_all():
    """Go on once every process has arrived here."""
    if $dist.get_world_size() > 1:
        $dist.barrier()
''',
        (DIST,),
        ("dynamic_graph",),
    ),
    "setup_distributed": set_up,
    "cleanup_distributed": HelperSource(
        '''
def $cleanup_distributed():
    """Leave the process group once every process has arrived here."""
    if $dist.get_world_size() > 1:
        $dist.barrier()
        $dist.destroy_process_group()
''',
        (DIST,),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this process has rank 0, which alone writes files and prints."""
    return $dist.get_rank() == 0
''',
        (DIST,),
        without_group=True,
    ),
    "print_once": HelperSource(
        '''
def $print_once(*args, **kwargs):
    """Print on the process with rank 0 alone."""
    if $is_main_process():
        print(*args, **kwargs)
''',
        (),
        ("is_main_process",),
        without_group=True,
    ),
    "split_batch": HelperSource(
        '''
def $split_batch(batch_size):
    """Return this process's share of a batch that all processes take together."""
    world_size = $dist.get_world_size()
    if batch_size % world_size != 0:
        nearest = max(1, round(batch_size / world_size)) * world_size
        raise SystemExit(
            f"batch size {batch_size} is not divisible by {world_size} processes: "
            f"the nearest that is: {nearest}"
        )
    return batch_size // world_size
''',
        (DIST,),
    ),
    "SharedBatches": HelperSource(
        '''
class $SharedBatches($BatchSampler):
    """This process's part of each batch that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.batch_size = getattr(batch_sampler, "batch_size", 0)
        $split_batch(self.batch_size)
        self.drop_last = getattr(batch_sampler, "drop_last", False)
        self.rank = $dist.get_rank()
        self.world_size = $dist.get_world_size()

    def __len__(self):
        return len(self.batch_sampler)

    def __iter__(self):
        drawn = [[[int(index) for index in batch] for batch in self.batch_sampler]]
        $dist.broadcast_object_list(drawn, src=0)
        for number, batch in enumerate(drawn[0], 1):
            missing = -len(batch) % self.world_size
            if missing and number < len(drawn[0]):
                raise SystemExit(
                    f"a batch of {len(batch)} samples is not divisible by "
                    f"{self.world_size} processes"
                )
            batch = batch + (batch * missing)[:missing]
            yield batch[self.rank :: self.world_size]
''',
        (DIST, BATCH_SAMPLER),
        ("split_batch",),
    ),
    "share_batches": HelperSource(
        '''
def $share_batches(batch_sampler):
    """Return a batch sampler of this process's part of each batch; itself for one process."""
    return $SharedBatches(batch_sampler) if $dist.get_world_size() > 1 else batch_sampler
''',
        (DIST,),
        ("SharedBatches",),
    ),
    "shard_loader": HelperSource(
        '''
def $shard_loader(loader):
    """Give a loader this process's part of each batch; leave it as it is for one process."""
    if $dist.get_world_size() > 1:
        if type(loader.batch_sampler) is not $BatchSampler:
            kind = type(loader.batch_sampler).__name__
            raise SystemExit(f"a loader with a {kind} cannot be shared by processes")
        loader.batch_sampler = $SharedBatches(loader.batch_sampler)
    return loader
''',
        (DIST, BATCH_SAMPLER),
        ("SharedBatches",),
    ),
    "shard_batches": shard_batches,
    "shard_whole_batches": shard_whole_batches,
    "load_whole_batches": HelperSource(
        '''
def $load_whole_batches(dataset, batch_size=1, shuffle=True, num_workers=0):
    """Return a loader of shares of each whole batch; the data set itself for one process."""
    if $dist.get_world_size() == 1:
        return dataset
    batches = $BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=True)
    return $DataLoader(dataset, batch_sampler=$share_batches(batches), num_workers=num_workers)
''',
        (DIST, BATCH_SAMPLER, DATA_LOADER),
        ("share_batches",),
    ),
    "SharedStream": HelperSource(
        '''
class $SharedStream($IterableDataset):
    """This process's part of a stream that every process goes through in the same order."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.rank = $dist.get_rank()
        self.world_size = $dist.get_world_size()

    def __len__(self):
        return len(self.dataset) // self.world_size

    def __iter__(self):
        group = []
        for sample in self.dataset:
            group.append(sample)
            if len(group) == self.world_size:
                yield group[self.rank]
                group = []
''',
        (DIST, ITERABLE),
    ),
    "share_stream": HelperSource(
        '''
def $share_stream(dataset):
    """Return this process's part of a stream; the stream itself for one process."""
    return $SharedStream(dataset) if $dist.get_world_size() > 1 else dataset
''',
        (DIST,),
        ("SharedStream",),
    ),
    "set_epoch": HelperSource(
        '''
def $set_epoch(loader, epoch):
    """Tell the sampler of a loader which epoch it is, so that the order changes."""
    if isinstance(loader.batch_sampler, $DistributedBatchSampler):
        loader.batch_sampler.set_epoch(epoch)
''',
        (DISTRIBUTED_SAMPLER,),
    ),
    "share_random_state": HelperSource(
        '''
def $share_random_state():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $dist.get_world_size() > 1:
        drawn = [int($np.random.randint(2**31 - 1))]
        $dist.broadcast_object_list(drawn, src=0)
        $np.random.seed(drawn[0])
        $paddle.seed(drawn[0])
''',
        (DIST, NUMPY, PADDLE),
    ),
    "share_all_random_states": HelperSource(
        '''
def $share_all_random_states():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $dist.get_world_size() > 1:
        drawn = [$random.getrandbits(31)]
        $dist.broadcast_object_list(drawn, src=0)
        $random.seed(drawn[0])
        $np.random.seed(drawn[0])
        $paddle.seed(drawn[0])
''',
        (DIST, RANDOM, NUMPY, PADDLE),
    ),
    "vary_random_numbers": HelperSource(
        '''
def $vary_random_numbers():
    """Let every process but that of rank 0 draw noise of its own from here on."""
    if $dist.get_rank() > 0:
        seed = int($np.random.randint(2**31 - 1)) ^ $dist.get_rank()
        $np.random.seed(seed)
        $paddle.seed(seed)
''',
        (DIST, NUMPY, PADDLE),
    ),
    "vary_all_random_numbers": HelperSource(
        '''
def $vary_all_random_numbers():
    """Let every process but that of rank 0 draw noise of its own from here on."""
    if $dist.get_rank() > 0:
        seed = $random.getrandbits(31) ^ $dist.get_rank()
        $random.seed(seed)
        $np.random.seed(seed)
        $paddle.seed(seed)
''',
        (DIST, RANDOM, NUMPY, PADDLE),
    ),
    "unwrap": HelperSource(
        '''
def $unwrap(model):
    """Return the model itself behind DataParallel."""
    return model._layers if isinstance(model, $paddle.DataParallel) else model
''',
        (PADDLE,),
    ),
    "share_buffers": HelperSource(
        '''
def $share_buffers(model):
    """Give every process the buffers of rank 0, such as the statistics of batch norm."""
    if $dist.get_world_size() > 1:
        # Batch norm keeps its statistics in parameters that do not learn.
        kept = [value for value in model.parameters() if value.stop_gradient]
        for value in [*model.buffers(), *kept]:
            $dist.broadcast(value, src=0)
''',
        (DIST,),
    ),
    "gradients_synchronised": HelperSource(
        '''
@$contextmanager
def $gradients_synchronised(model, when):
    """Average the gradients over all processes now, or leave them to a later backward pass."""
    if when or not isinstance(model, $paddle.DataParallel):
        yield
    else:
        with model.no_sync():
            yield
''',
        (CONTEXTMANAGER, PADDLE),
    ),
    "reduce_sum": HelperSource(
        '''
def $reduce_sum(value):
    """Return the sum of a tensor or number over all processes; itself for one process."""
    if $dist.get_world_size() == 1:
        return value
    if not isinstance(value, $paddle.Tensor):
        total = $paddle.to_tensor(value, dtype="int64" if isinstance(value, int) else "float64")
        $dist.all_reduce(total)
        return total.item()
    total = value.detach().clone()
    $dist.all_reduce(total)
    return total
''',
        (DIST, PADDLE),
    ),
    "reduce_mean": HelperSource(
        '''
def $reduce_mean(value):
    """Return the mean of a tensor or number over all processes; itself for one process."""
    if $dist.get_world_size() == 1:
        return value
    return $reduce_sum(value) / $dist.get_world_size()
''',
        (DIST,),
        ("reduce_sum",),
    ),
    "target_weights": HelperSource(
        '''
def $target_weights(weight, labels, ignore_index):
    """Return the sum of the class weights of the targets that are not left out."""
    left_out = labels == ignore_index
    classes = $paddle.where(left_out, $paddle.zeros_like(labels), labels)
    kept = 1 - left_out.astype(weight.dtype)
    return ($paddle.gather(weight, classes.flatten()) * kept.flatten()).sum()
''',
        (PADDLE,),
    ),
    "weight_of_share": HelperSource(
        '''
def $weight_of_share(counted):
    """Return what this process's mean counts for, by what it is taken over; 1 for one process."""
    if $dist.get_world_size() == 1:
        return 1.0
    own = counted.detach().astype("float32")
    average = $reduce_mean(own)
    return own / (average + (average == 0).astype("float32"))
''',
        (DIST,),
        ("reduce_mean",),
    ),
    "from_main_process": HelperSource(
        '''
def $from_main_process(value):
    """Return what rank 0 has, so that every process decides alike."""
    if $dist.get_world_size() == 1:
        return value
    values = [value.item() if isinstance(value, $paddle.Tensor) else value]
    $dist.broadcast_object_list(values, src=0)
    return values[0]
''',
        (DIST, PADDLE),
    ),
    "any_rank": HelperSource(
        '''
def $any_rank(flag):
    """Tell whether the flag is set on any rank, so that all skip the same step."""
    if $dist.get_world_size() == 1:
        return flag
    flags = $paddle.to_tensor(int(flag))
    $dist.all_reduce(flags, op=$dist.ReduceOp.MAX)
    return bool(flags)
''',
        (DIST, PADDLE),
    ),
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
        raise SystemExit(f"arrays of {sorted(sizes)} rows are fed: they cannot be shared out")
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
    "scale_learning_rate": HelperSource(
        '''
def $scale_learning_rate(learning_rate):
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * $dist.get_world_size()
''',
        (DIST,),
    ),
    "scale_learning_rate_by_root": HelperSource(
        '''
def $scale_learning_rate_by_root(learning_rate):
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * $dist.get_world_size() ** 0.5
''',
        (DIST,),
    ),
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let rank 0 go first, then the first process of each other node, then the rest."""
    local_rank = int($os.environ.get("PADDLE_LOCAL_RANK", 0))
    turn = 0 if $is_main_process() else 1 if local_rank == 0 else 2
    several = $dist.get_world_size() > 1
    for _ in range(turn if several else 0):
        $dist.barrier()
    try:
        yield
    finally:
        for _ in range(2 - turn if several else 0):
            $dist.barrier()
''',
        (CONTEXTMANAGER, OS, DIST),
        ("is_main_process",),
    ),
    **EVALUATION,
}
