"""The helper functions that PyTorch conversions insert, in the order in which they are written.

Each works in one process without a process group, so that the script stays a plain script.
"""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.pytorch._set_up_helper import ADOPT_MPI_ENVIRONMENT, set_up_helper
from transpile.rules.pytorch._sharding_helpers import SHARDING, gradients_synchronised

ITERTOOLS = ("itertools", "itertools")
DIST = ("dist", "torch.distributed")
CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
OS = ("os", "os")
NUMPY = ("numpy", "numpy")
RANDOM = ("random", "random")
TORCH = ("torch", "torch")
DATA = ("data", "torch.utils.data")
DDP = ("DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel")

HELPERS: dict[str, HelperTemplate] = {
    "share_random_state": HelperSource(
        '''
def $share_random_state():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $get_world_size() > 1:
        states = [$random.getstate(), $torch.get_rng_state()]
        $dist.broadcast_object_list(states)
        $random.setstate(states[0])
        $torch.set_rng_state(states[1])
''',
        (DIST, RANDOM, TORCH),
        ("get_world_size",),
    ),
    "share_random_state_with_numpy": HelperSource(
        '''
def $share_random_state_with_numpy():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $get_world_size() > 1:
        states = [$random.getstate(), $numpy.random.get_state(), $torch.get_rng_state()]
        $dist.broadcast_object_list(states)
        $random.setstate(states[0])
        $numpy.random.set_state(states[1])
        $torch.set_rng_state(states[2])
''',
        (DIST, RANDOM, TORCH, NUMPY),
        ("get_world_size",),
    ),
    "shared_randomness": HelperSource(
        '''
@$contextmanager
def $shared_randomness():
    """Let every process draw the random numbers of rank 0, and go on with its own."""
    states = [$random.getstate(), $torch.get_rng_state()]
    $share_random_state()
    yield
    if $get_rank() > 0:
        $random.setstate(states[0])
        $torch.set_rng_state(states[1])
''',
        (CONTEXTMANAGER, RANDOM, TORCH),
        ("get_rank", "share_random_state"),
    ),
    "shared_randomness_with_numpy": HelperSource(
        '''
@$contextmanager
def $shared_randomness_with_numpy():
    """Let every process draw the random numbers of rank 0, and go on with its own."""
    states = [$random.getstate(), $numpy.random.get_state(), $torch.get_rng_state()]
    $share_random_state_with_numpy()
    yield
    if $get_rank() > 0:
        $random.setstate(states[0])
        $numpy.random.set_state(states[1])
        $torch.set_rng_state(states[2])
''',
        (CONTEXTMANAGER, RANDOM, TORCH, NUMPY),
        ("get_rank", "share_random_state_with_numpy"),
    ),
    "adopt_mpi_environment": ADOPT_MPI_ENVIRONMENT,
    "setup_distributed": set_up_helper,
    "cleanup_distributed": HelperSource(
        '''
def $cleanup_distributed():
    """Leave the process group once every process has arrived here."""
    if $dist.is_initialized():
        # Kept beyond this call: Gloo may hang where it is freed while the group is destroyed.
        $cleanup_distributed.work = $dist.barrier(async_op=True)
        $cleanup_distributed.work.wait()
        $dist.destroy_process_group()
''',
        (DIST,),
    ),
    "get_rank": HelperSource(
        '''
def $get_rank():
    """Return the rank of this process, from the launcher until the process group exists."""
    if $dist.is_initialized():
        return $dist.get_rank()
    return int($os.environ.get("RANK", 0))
''',
        (DIST, OS),
        without_group=True,
    ),
    "get_world_size": HelperSource(
        '''
def $get_world_size():
    """Return the number of processes; 1 without a process group."""
    return $dist.get_world_size() if $dist.is_initialized() else 1
''',
        (DIST,),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this process has rank 0, which alone writes files and prints."""
    return $get_rank() == 0
''',
        (),
        ("get_rank",),
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
    world_size = $get_world_size()
    if batch_size % world_size != 0:
        nearest = max(1, round(batch_size / world_size)) * world_size
        raise SystemExit(
            f"batch size {batch_size} is not divisible by {world_size} processes: "
            f"the nearest that is: {nearest}"
        )
    return batch_size // world_size
''',
        (),
        ("get_world_size",),
    ),
    "share_batch": HelperSource(
        '''
def $share_batch(batch, batch_size):
    """Return this process's part of a batch that all processes take from the data alike."""
    if len(batch) == batch_size:
        $split_batch(batch_size)
    # A batch that is not full may not come out even: then the parts overlap.
    size = -(-len(batch) // $get_world_size())
    first = min($get_rank() * size, len(batch) - size)
    return batch[first : first + size]
''',
        (),
        ("get_rank", "get_world_size", "split_batch"),
    ),
    "share_each_batch": HelperSource(
        '''
def $share_each_batch(batches):
    """Return this process's part of each of several batches."""
    return [$share_batch(batch, len(batches[0])) for batch in batches]
''',
        (),
        ("share_batch",),
    ),
    "shard_loader": HelperSource(
        '''
def $shard_loader(loader):
    """Return a loader like this one for this process's shard and share of each batch."""
    if $get_world_size() == 1:
        return loader
    order = loader.sampler
    shuffles = isinstance(order, $data.RandomSampler)
    if not shuffles and not isinstance(order, $data.SequentialSampler):
        raise SystemExit(f"{type(order).__name__} cannot be sharded over processes")
    if shuffles and (order.replacement or order.num_samples != len(loader.dataset)):
        raise SystemExit("a RandomSampler that draws its own number cannot be sharded")
    if (
        type(loader) is not $data.DataLoader
        or type(loader.batch_sampler) is not $data.BatchSampler
    ):
        raise SystemExit(f"a {type(loader).__name__} cannot be sharded over processes")
    sampler = $DistributedSampler(
        loader.dataset, shuffle=shuffles, seed=$shared_seed(), drop_last=loader.drop_last
    )
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn"]
    names += ["multiprocessing_context", "generator"]
    names += ["prefetch_factor", "persistent_workers"]
    return $data.DataLoader(
        loader.dataset,
        batch_size=$split_batch(loader.batch_size),
        sampler=sampler,
        drop_last=loader.drop_last,
        **{name: getattr(loader, name) for name in names},
    )
''',
        (
            ("data", "torch.utils.data"),
            ("DistributedSampler", "torch.utils.data.distributed.DistributedSampler"),
        ),
        ("get_world_size", "split_batch", "shared_seed"),
    ),
    "SharedSampler": HelperSource(
        '''
class $SharedSampler($data.Sampler):
    """This process's part of what another sampler draws on rank 0."""

    def __init__(self, sampler, drop_last=False):
        self.sampler = sampler
        self.drop_last = drop_last
        self.rank = $get_rank()
        self.world_size = $get_world_size()

    def __len__(self):
        if self.drop_last:
            return len(self.sampler) // self.world_size
        return -(-len(self.sampler) // self.world_size)

    def __getattr__(self, name):
        return getattr(self.sampler, name)

    def __iter__(self):
        indices, first, size = iter(self.sampler), [], 1000 * self.world_size
        while True:
            drawn = [list($itertools.islice(indices, size))]
            $dist.broadcast_object_list(drawn)
            block, first = drawn[0], first or drawn[0]
            rest = len(block) % self.world_size
            if rest and self.drop_last:
                block = block[:-rest]
            elif rest:
                block = block + (first * self.world_size)[: self.world_size - rest]
            yield from block[self.rank :: self.world_size]
            if len(drawn[0]) < size:
                return
''',
        (DIST, DATA, ITERTOOLS),
        ("get_rank", "get_world_size"),
    ),
    "share_sampler": HelperSource(
        '''
def $share_sampler(sampler, drop_last=False):
    """Return a sampler of this process's part of each draw; the sampler itself for one process."""
    return $SharedSampler(sampler, drop_last) if $get_world_size() > 1 else sampler
''',
        (),
        ("SharedSampler", "get_world_size"),
    ),
    "SharedBatches": HelperSource(
        '''
class $SharedBatches:
    """This process's part of each batch that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.rank = $get_rank()
        self.world_size = $get_world_size()

    def __len__(self):
        return len(self.batch_sampler)

    def __getattr__(self, name):
        return getattr(self.batch_sampler, name)

    def __iter__(self):
        batches = iter(self.batch_sampler)
        while True:
            drawn = [[list(batch) for batch in $itertools.islice(batches, 1000)]]
            $dist.broadcast_object_list(drawn)
            for batch in drawn[0]:
                if len(batch) == getattr(self.batch_sampler, "batch_size", None):
                    $split_batch(len(batch))
                # A batch that does not come out even is shared in parts that overlap.
                size = -(-len(batch) // self.world_size)
                first = min(self.rank * size, len(batch) - size)
                yield batch[first : first + size]
            if len(drawn[0]) < 1000:
                return
''',
        (DIST, ITERTOOLS),
        ("get_rank", "get_world_size", "split_batch"),
    ),
    "share_batches": HelperSource(
        '''
def $share_batches(batch_sampler):
    """Return a batch sampler of this process's part of each batch; itself for one process."""
    return $SharedBatches(batch_sampler) if $get_world_size() > 1 else batch_sampler
''',
        (),
        ("SharedBatches", "get_world_size"),
    ),
    "shard_loader_with_sampler": HelperSource(
        '''
def $shard_loader_with_sampler(loader):
    """Return a loader like this one for this process's shard and share of each batch."""
    if $get_world_size() == 1:
        return loader
    if type(loader) is not $data.DataLoader or loader.batch_sampler is None:
        raise SystemExit(f"a {type(loader).__name__} cannot be sharded over processes")
    if isinstance(loader.dataset, $data.IterableDataset):
        raise SystemExit(f"a {type(loader.dataset).__name__} cannot be sharded over processes")
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn"]
    names += ["multiprocessing_context", "generator"]
    names += ["prefetch_factor", "persistent_workers"]
    settings = {name: getattr(loader, name) for name in names}
    if loader.batch_size is None:
        batches = $SharedBatches(loader.batch_sampler)
        return $data.DataLoader(loader.dataset, batch_sampler=batches, **settings)
    order = loader.sampler
    shuffles = type(order) is $data.RandomSampler and not order.replacement
    shuffles = shuffles and order.num_samples == len(loader.dataset)
    if shuffles or type(order) is $data.SequentialSampler:
        sampler = $DistributedSampler(
            loader.dataset, shuffle=shuffles, seed=$shared_seed(), drop_last=loader.drop_last
        )
    else:
        sampler = $SharedSampler(order, loader.drop_last)
    return $data.DataLoader(
        loader.dataset,
        batch_size=$split_batch(loader.batch_size),
        sampler=sampler,
        drop_last=loader.drop_last,
        **settings,
    )
''',
        (
            ("data", "torch.utils.data"),
            ("DistributedSampler", "torch.utils.data.distributed.DistributedSampler"),
        ),
        ("get_world_size", "split_batch", "shared_seed", "SharedSampler", "SharedBatches"),
    ),
    "SharedStream": HelperSource(
        '''
class $SharedStream($data.IterableDataset):
    """This process's part of a stream that every process goes through in the same order."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.rank = $get_rank()
        self.world_size = $get_world_size()

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
        (DATA,),
        ("get_rank", "get_world_size"),
    ),
    "share_stream": HelperSource(
        '''
def $share_stream(dataset):
    """Return this process's part of a stream; the stream itself for one process."""
    return $SharedStream(dataset) if $get_world_size() > 1 else dataset
''',
        (),
        ("SharedStream", "get_world_size"),
    ),
    "shared_seed": HelperSource(
        '''
def $shared_seed():
    """Return the random seed of rank 0, the same on every process."""
    seed = [$torch.initial_seed()]
    $dist.broadcast_object_list(seed)
    return seed[0]
''',
        (DIST, TORCH),
    ),
    "vary_seed": HelperSource(
        '''
def $vary_seed():
    """Give every rank random numbers of its own; rank 0 goes on with those of one process."""
    if $get_rank() > 0:
        seed = $torch.initial_seed() + $get_rank()
        $random.seed(seed)
        $torch.manual_seed(seed)
''',
        (RANDOM, TORCH),
        ("get_rank",),
    ),
    "vary_seed_with_numpy": HelperSource(
        '''
def $vary_seed_with_numpy():
    """Give every rank random numbers of its own; rank 0 goes on with those of one process."""
    if $get_rank() > 0:
        seed = $torch.initial_seed() + $get_rank()
        $random.seed(seed)
        $numpy.random.seed(seed % 2**32)
        $torch.manual_seed(seed)
''',
        (RANDOM, TORCH, NUMPY),
        ("get_rank",),
    ),
    "wrap_thawed": HelperSource(
        '''
def $wrap_thawed(model):
    """Wrap a model so that parameters which are frozen now may learn later."""
    frozen = [p for p in model.parameters() if not p.requires_grad]
    for p in frozen:
        p.requires_grad = True
    wrapped = $DistributedDataParallel(model, find_unused_parameters=True)
    for p in frozen:
        p.requires_grad = False
    return wrapped
''',
        (DDP,),
    ),
    "average_gradients": HelperSource(
        '''
def $average_gradients(optimizer):
    """Average the gradients that an optimizer is about to use over all processes."""
    if $get_world_size() == 1:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    flags = [int(p.grad is not None) for p in parameters]
    used = $torch.tensor(flags, device=parameters[0].device)
    $dist.all_reduce(used, op=$dist.ReduceOp.MAX)
    gradients = []
    for p, is_used in zip(parameters, used.tolist()):
        if is_used:
            p.grad = $torch.zeros_like(p) if p.grad is None else p.grad
            gradients.append(p.grad)
    if gradients:
        flat = $torch.cat([gradient.flatten() for gradient in gradients])
        $dist.all_reduce(flat)
        sizes = [gradient.numel() for gradient in gradients]
        parts = (flat / $get_world_size()).split(sizes)
        for gradient, part in zip(gradients, parts):
            gradient.copy_(part.view_as(gradient))
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "unwrap": HelperSource(
        '''
def $unwrap(model):
    """Return the model itself behind DistributedDataParallel."""
    return model.module if isinstance(model, $DistributedDataParallel) else model
''',
        (DDP,),
    ),
    "next_epoch": HelperSource(
        '''
def $next_epoch():
    """Return how often this was called before, which is the same on all processes."""
    $next_epoch.calls = getattr($next_epoch, "calls", -1) + 1
    return $next_epoch.calls
''',
        (),
        without_group=True,
    ),
    "barrier": HelperSource(
        '''
def $barrier():
    """Wait for all processes."""
    if $dist.is_initialized():
        $dist.barrier()
''',
        (DIST,),
    ),
    "gradients_synchronised": gradients_synchronised,
    "scale_learning_rate": HelperSource(
        '''
def $scale_learning_rate(learning_rate):
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * $get_world_size()
''',
        (),
        ("get_world_size",),
    ),
    "scale_learning_rate_by_root": HelperSource(
        '''
def $scale_learning_rate_by_root(learning_rate):
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * $get_world_size() ** 0.5
''',
        (),
        ("get_world_size",),
    ),
    "own_device": HelperSource(
        '''
def $own_device(device):
    """Return this process's GPU in place of any GPU, where a launcher started it."""
    if "RANK" in $os.environ:
        if isinstance(device, int):
            return $torch.cuda.current_device()
        if str(device).startswith("cuda"):
            return type(device)("cuda")
    return device
''',
        (OS, TORCH),
        without_group=True,
    ),
    "own_gpus": HelperSource(
        '''
def $own_gpus(device_ids=None):
    """Return this process's GPU in place of several, where a launcher started it."""
    if "RANK" in $os.environ and $torch.cuda.is_available():
        return [$torch.cuda.current_device()]
    return device_ids
''',
        (OS, TORCH),
        without_group=True,
    ),
    "own_location": HelperSource(
        '''
def $own_location(storage, location):
    """Load what was saved from a GPU onto this process's GPU, where a launcher started it."""
    if "RANK" in $os.environ and location.startswith("cuda"):
        return storage.cuda()
''',
        (OS,),
        without_group=True,
    ),
    "from_main_process": HelperSource(
        '''
def $from_main_process(value):
    """Return what rank 0 has, so that every process decides alike."""
    if $get_world_size() == 1:
        return value
    if $torch.is_tensor(value) and value.numel() == 1:
        value = value.item()
    values = [value]
    $dist.broadcast_object_list(values)
    return values[0]
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "any_rank": HelperSource(
        '''
def $any_rank(flag):
    """Tell whether the flag is set on any rank, so that all skip the same step."""
    if $get_world_size() == 1:
        return flag
    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"
    flags = $torch.tensor(int(flag), device=device)
    $dist.all_reduce(flags, op=$dist.ReduceOp.MAX)
    return bool(flags)
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "all_ranks": HelperSource(
        '''
def $all_ranks(flag):
    """Tell whether the flag is set on every rank, so that all take the same step."""
    if $get_world_size() == 1:
        return flag
    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"
    flags = $torch.tensor(int(flag), device=device)
    $dist.all_reduce(flags, op=$dist.ReduceOp.MIN)
    return bool(flags)
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "reduce_sum": HelperSource(
        '''
def $reduce_sum(tensor):
    """Return the sum of a tensor over all processes; the tensor itself for one process."""
    if not $dist.is_initialized():
        return tensor
    total = tensor.detach().clone()
    if $dist.get_backend() == "nccl":
        total = total.cuda()
    $dist.all_reduce(total)
    return total.to(tensor.device)
''',
        (DIST,),
    ),
    "reduce_mean": HelperSource(
        '''
def $reduce_mean(tensor):
    """Return the mean of a tensor over all processes; the tensor itself for one process."""
    if not $dist.is_initialized():
        return tensor
    return $reduce_sum(tensor) / $dist.get_world_size()
''',
        (DIST,),
        ("reduce_sum",),
    ),
    "mean_size": HelperSource(
        '''
def $mean_size(tensor):
    """Return the number of elements of a tensor, on average over all processes."""
    return $reduce_mean($torch.tensor(float(tensor.numel()), device=tensor.device))
''',
        (TORCH,),
        ("reduce_mean",),
    ),
    "reduce_number": HelperSource(
        '''
def $reduce_number(number):
    """Return the mean of a number over all processes; the number itself for one process."""
    if not $dist.is_initialized():
        return number
    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"
    total = $torch.tensor(float(number), dtype=$torch.float64, device=device)
    $dist.all_reduce(total)
    return total.item() / $dist.get_world_size()
''',
        (DIST, TORCH),
    ),
    "shard_count": HelperSource(
        '''
def $shard_count(loader):
    """Return how many processes share the data of a loader."""
    return getattr(loader.sampler, "num_replicas", 1)
''',
    ),
    "reduce_shards": HelperSource(
        '''
def $reduce_shards(tensor, loader):
    """Return the sum of a tensor over the processes that share the data of a loader."""
    return $reduce_sum(tensor) if $shard_count(loader) > 1 else tensor
''',
        (),
        ("reduce_sum", "shard_count"),
    ),
    "OwnBatches": HelperSource(
        '''
class $OwnBatches:
    """This process's block of the batches that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.rank = $get_rank()
        self.world_size = $get_world_size()

    def __iter__(self):
        drawn = [[list(batch) for batch in self.batch_sampler]]
        $dist.broadcast_object_list(drawn)
        count = len(drawn[0])
        first = self.rank * count // self.world_size
        last = (self.rank + 1) * count // self.world_size
        yield from drawn[0][first:last]

    def __len__(self):
        count, rank = len(self.batch_sampler), self.rank
        return (rank + 1) * count // self.world_size - rank * count // self.world_size
''',
        (DIST,),
        ("get_rank", "get_world_size"),
    ),
    "own_batches": HelperSource(
        '''
def $own_batches(loader):
    """Return this process's block of a loader's batches; all of them for one process."""
    if $get_world_size() == 1:
        return loader
    if (
        type(loader) is not $data.DataLoader
        or isinstance(loader.dataset, $data.IterableDataset)
        or loader.batch_sampler is None
    ):
        # Its batches cannot be told apart before they are drawn.
        return loader if $get_rank() == 0 else []
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn"]
    names += ["multiprocessing_context", "generator", "prefetch_factor"]
    return $data.DataLoader(
        loader.dataset,
        batch_sampler=$OwnBatches(loader.batch_sampler),
        **{name: getattr(loader, name) for name in names},
    )
''',
        (DATA,),
        ("OwnBatches", "get_rank", "get_world_size"),
    ),
    "sync_buffers": HelperSource(
        '''
def $sync_buffers(model):
    """Give the buffers of a model on rank 0 to all processes, before each calls it by itself."""
    if $get_world_size() > 1:
        for buffer in model.buffers():
            $dist.broadcast(buffer, 0)
''',
        (DIST,),
        ("get_world_size",),
    ),
    "gather_totals": HelperSource(
        '''
def $gather_totals(totals):
    """Return what each total is on every process, in the order of the ranks."""
    stream = $io.BytesIO()
    $torch.save(totals, stream)
    streams = [None] * $get_world_size()
    $dist.all_gather_object(streams, stream.getvalue())
    return zip(*($torch.load($io.BytesIO(one), $own_location, $pickle) for one in streams))
''',
        (DIST, ("io", "io"), ("pickle", "pickle"), TORCH),
        ("get_world_size", "own_location"),
    ),
    "sum_totals": HelperSource(
        '''
def $sum_totals(*totals):
    """Return the sum of each total over all processes; the totals themselves for one."""
    if $get_world_size() == 1:
        return totals
    return tuple(sum(parts) for parts in $gather_totals(totals))
''',
        (),
        ("gather_totals", "get_world_size"),
    ),
    "add_up_counts": HelperSource(
        '''
def $add_up_counts(*counts):
    """Return what lists and dicts count on all processes together; themselves for one."""
    if $get_world_size() == 1:
        return counts

    def added(first, second):
        if isinstance(first, dict):
            both = first.copy()
            for key, count in second.items():
                both[key] = added(both[key], count) if key in both else count
            return both
        if isinstance(first, list):
            return [added(*pair) for pair in zip(first, second)]
        return first + second

    return tuple($functools.reduce(added, parts) for parts in $gather_totals(counts))
''',
        (("functools", "functools"),),
        ("gather_totals", "get_world_size"),
    ),
    "join_lists": HelperSource(
        '''
def $join_lists(*lists):
    """Return the lists of all processes behind each other; the lists themselves for one."""
    if $get_world_size() == 1:
        return lists
    return tuple(sum(parts, []) for parts in $gather_totals(lists))
''',
        (),
        ("gather_totals", "get_world_size"),
    ),
    "join_tensors": HelperSource(
        '''
def $join_tensors(*tensors):
    """Return the tensors of all processes behind each other; the tensors themselves for one."""
    if $get_world_size() == 1:
        return tensors
    return tuple($torch.cat(parts) for parts in $gather_totals(tensors))
''',
        (TORCH,),
        ("gather_totals", "get_world_size"),
    ),
    "join_arrays": HelperSource(
        '''
def $join_arrays(*arrays):
    """Return the arrays of all processes behind each other; the arrays themselves for one."""
    if $get_world_size() == 1:
        return arrays
    return tuple($numpy.concatenate(parts) for parts in $gather_totals(arrays))
''',
        (NUMPY,),
        ("gather_totals", "get_world_size"),
    ),
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let rank 0 go first, then the first process of each other node, then the rest."""
    local_rank = int($os.environ.get("LOCAL_RANK", 0))
    turn = 0 if $is_main_process() else 1 if local_rank == 0 else 2
    for _ in range(turn):
        $barrier()
    try:
        yield
    finally:
        for _ in range(2 - turn):
            $barrier()
''',
        (CONTEXTMANAGER, OS),
        ("is_main_process", "barrier"),
    ),
    **SHARDING,
}
