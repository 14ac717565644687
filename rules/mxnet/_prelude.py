"""The helper functions that MXNet conversions insert, in the order in which they are written.

Each works without a launcher, where there is no shared store and everything is as it was.
"""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._prelude_data import DATA_HELPERS, MX, NUMPY

OS = ("os", "os")
RANDOM = ("random", "random")
COPY = ("copy", "copy")
ITERTOOLS = ("itertools", "itertools")
LOGGING = ("logging", "logging")
CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")

CREATE_STORE = '''
def $create_store():
    """Make the store that the workers share; there is none without a launcher."""
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    launched = "DMLC_ROLE" in $os.environ
    if not launched and any(int(count or 1) > 1 for count in counts):
        raise SystemExit("several tasks but no DMLC_ROLE: use MXNet's tools/launch.py")
    names = ["DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_NUM_SERVER", "DMLC_NUM_WORKER"]
    for name in names if launched else []:
        if name not in $os.environ:
            raise SystemExit(f"DMLC_ROLE is set but not {name}: use MXNet's tools/launch.py")
    workers = int($os.environ["DMLC_NUM_WORKER"]) if launched else 1
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", workers))
    if expected != workers:
        raise SystemExit(f"{workers} workers started, {expected} expected")
    return $mx.kv.create("@kind") if launched else None
'''


WORKERS_UPDATE = """
    # The workers update: the servers add up whatever they are sent.
    $os.environ["MXNET_UPDATE_ON_KVSTORE"] = "0"
"""
READY = """
    if not launched:
        return None
@workers
    store = $mx.kv.create("@kind")
"""
HAND_OUT = """
    hand_out = getattr(store, "broadcast", None)  # older than MXNet 1.6: none

    def hand_out_and_wait(*args, **kwargs):
        hand_out(*args, **kwargs)
        $mx.nd.waitall()

    # A trainer hands parameters out under the keys that gradients are pushed to next: on CPUs
    # MXNet does not keep the two in order.
    store.broadcast = hand_out_and_wait
"""
APART = """
    def push_and_pull(key, value, out=None, priority=0):
        store.push(key, value, priority)
        store.pull(key, out=value if out is None else out, priority=priority)

    # Both at once cannot be compressed.
    store.pushpull = push_and_pull
"""


def create_store(options: Options) -> HelperSource:
    """The helper that makes the store, of the kind that the options want."""
    return made_store(options, options.kvstore != "dist_async")


def made_store(options: Options, workers_update: bool) -> HelperSource:
    """The helper that makes the store.

    Args:
        options: the choices of the conversion.
        workers_update: trainers take the store as it is, and update the parameters themselves.
    """
    code = CREATE_STORE.replace('    return $mx.kv.create("@kind") if launched else None\n', "")
    code = code.rstrip("\n") + READY + HAND_OUT.lstrip("\n")
    code = code.replace("@workers\n", WORKERS_UPDATE.lstrip("\n") if workers_update else "")
    if options.compression != "none":
        code = code.rstrip("\n") + "\n" + APART
    code = code.rstrip("\n") + "\n    return store\n"
    return HelperSource(code.replace("@kind", options.kvstore), (MX, OS))


def plain_store(options: Options, workers_update: bool) -> HelperSource:
    """The helper that makes the store where what trains gets stores of its own, which prepare it.

    Args:
        options: the choices of the conversion.
        workers_update: what trains are trainers, which update the parameters themselves.
    """
    code = CREATE_STORE
    if workers_update:
        last = '    return $mx.kv.create("@kind") if launched else None\n'
        made = '    return $mx.kv.create("@kind")\n'
        code = code.replace(
            last, READY.lstrip("\n").replace('    store = $mx.kv.create("@kind")\n', made)
        )
        code = code.replace("@workers\n", WORKERS_UPDATE.lstrip("\n"))
    return HelperSource(code.replace("@kind", options.kvstore), (MX, OS))


#: Keys for scripts in which several things train: those of one store are all numbers or all names.
STRING_KEYS = HelperSource(
    '$keys = (f"shared {number}" for number in $itertools.count())', (ITERTOOLS,)
)
#: Keys for scripts with modules: these name their parameters, and the keys of one store are all
#: numbers or all names.
NAMED_KEYS = HelperSource(
    """
$keys = $name_keys()
if $store is not None:
    $store.set_optimizer = $set_optimizer
""",
    (),
    ("store", "name_keys", "set_optimizer"),
)

PARAMETERS = '''
def $share_parameters(params):
    """Give every worker the initial parameters of rank 0, whenever they get values."""
    if $store is None:
        return params
    waiting = []

    def share_later(param):
        initialise = param._init_impl

        def initialise_and_share(*args):
            initialise(*args)
            $broadcast(param.list_data())
            if param in waiting:
                waiting.remove(param)
@later
        param._init_impl = initialise_and_share

    for param in params.values() if hasattr(params, "values") else params:
        $share_parameters.params.append(param)
        share_later(param)
        try:
            arrays = param.list_data()
        except RuntimeError:  # it has no values yet
            waiting.append(param)
        else:
            $broadcast(arrays)
@now    return params


$share_parameters.params = []
'''
LATER = """            if not waiting:
                $vary_random_numbers()
"""
NOW = """    if not waiting:
        $vary_random_numbers()
"""
SHARE_PARAMETERS = HelperSource(
    PARAMETERS.replace("@later", "").replace("@now", ""), (MX,), ("store", "broadcast")
)
#: The same where dropout and noise may differ from worker to worker from then on.
SHARE_AND_VARY = HelperSource(
    PARAMETERS.replace("@later", LATER).replace("@now", NOW),
    (MX,),
    ("store", "broadcast", "vary_random_numbers"),
)


WORKER_STORE = HelperSource(
    '''
class $WorkerStore($mx.kv.KVStore):
    """The store that the workers share, under names of its own for one trainer or module.

    Its servers only add gradients up: the parameters of a module are updated in the workers.
    """

    made = 0

    def __init__(self, shared):
        super().__init__(shared.handle)
        self.shared, self.updaters, self.pushed = shared, {}, {}
        self.number = $WorkerStore.made = $WorkerStore.made + 1

    def __del__(self):
        pass  # the handle is that of the shared store

    @property
    def type(self):
        return self.shared.type

    @property
    def rank(self):
        return self.shared.rank

    @property
    def num_workers(self):
        return self.shared.num_workers

    def init(self, key, value):
        self.updaters[key] = self._updater
        self.shared.init(f"{self.number} {key}", value)

    def push(self, key, value, priority=0):
        self.pushed[key] = value
        self.shared.push(f"{self.number} {key}", value, priority)

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        gradients, updater = self.pushed.pop(key, None), self.updaters[key]
        if updater is None or gradients is None:
            self.shared.pull(f"{self.number} {key}", out, priority)
            return
        self.shared.pull(f"{self.number} {key}", gradients, priority)
        for device, (gradient, weight) in enumerate(zip(gradients, out)):
            index = f"{key} {device}"
            updater.optimizer.idx2name[index] = key
            updater(index, gradient, weight)

    def pushpull(self, key, value, out=None, priority=0):
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority=0):
        self.init(key, value)
        self.pull(key, out, priority)
        $mx.nd.waitall()

    def set_optimizer(self, optimizer):
        self._updater = $mx.optimizer.get_updater(optimizer)
''',
    (MX,),
)
HELPERS: dict[str, HelperTemplate] = {
    "WorkerStore": WORKER_STORE,
    "create_store": create_store,
    "store": HelperSource("$store = $create_store()", (), ("create_store",)),
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
    "name_keys": HelperSource(
        '''
def $name_keys():
    """Give names to keys that are not those of parameters, and count them."""
    for number in $itertools.count():
        $name_keys.made = number + 1
        yield f"shared {number}"


$name_keys.made = 0
''',
        (ITERTOOLS,),
    ),
    "set_optimizer": HelperSource(
        '''
def $set_optimizer(optimizer):
    """Hand the optimizer to servers, which number parameters behind the keys made before."""
    names = optimizer.idx2name.items()
    optimizer.idx2name = {$name_keys.made + index: name for index, name in names}
    type($store).set_optimizer($store, optimizer)
''',
        (),
        ("store", "name_keys"),
    ),
    "keys": HelperSource(
        "$keys = $itertools.count(100000)  # beyond those of trainers", (ITERTOOLS,)
    ),
    "broadcast": HelperSource(
        '''
def $broadcast(arrays):
    """Give copies of one array the value that they have on the worker with rank 0."""
    key = next($keys)
    $store.init(key, arrays[0])
    $store.pull(key, out=arrays)
''',
        (),
        ("store", "keys"),
    ),
    "share_random_state": HelperSource(
        '''
def $share_random_state():
    """Give every worker the random numbers of rank 0, so that data and splits agree."""
    if $store is not None:
        seed = $mx.nd.array([$np.random.randint(2**31)], dtype="float64")
        $broadcast([seed])
        $np.random.seed(int(seed.asscalar()))


$share_random_state()
''',
        (MX, NUMPY),
        ("store", "broadcast"),
    ),
    "share_random_states": HelperSource(
        '''
def $share_random_states():
    """Give every worker the random numbers of rank 0, so that data and splits agree."""
    if $store is not None:
        seed = $mx.nd.array([$np.random.randint(2**31)], dtype="float64")
        $broadcast([seed])
        $np.random.seed(int(seed.asscalar()))
        $random.seed(int(seed.asscalar()))


$share_random_states()
''',
        (MX, NUMPY, RANDOM),
        ("store", "broadcast"),
    ),
    "all_reduce": HelperSource(
        '''
def $all_reduce(numbers):
    """Return the sums of numbers over all workers."""
    total = $mx.nd.array(numbers, dtype="float64")
    if len(numbers) not in $all_reduce.keys:
        $all_reduce.keys[len(numbers)] = next($keys)
        $store.init($all_reduce.keys[len(numbers)], total)
    $store.push($all_reduce.keys[len(numbers)], total)
    $store.pull($all_reduce.keys[len(numbers)], out=total)
    return total.asnumpy()


$all_reduce.keys = {}
''',
        (MX,),
        ("store", "keys"),
    ),
    "reduce_metric": HelperSource(
        '''
def $reduce_metric(metric):
    """Return a metric of what all workers have counted."""
    if $store is None:
        return metric
    reduced = $copy.deepcopy(metric)
    for part in getattr(reduced, "metrics", [reduced]):
        names = ["sum_metric", "num_inst", "global_sum_metric", "global_num_inst"]
        counted = [name for name in names if hasattr(part, name)]
        totals = $all_reduce([float(getattr(part, name)) for name in counted])
        for name, total in zip(counted, totals):
            setattr(part, name, int(total) if name.endswith("inst") else total)
    return reduced
''',
        (COPY,),
        ("store", "all_reduce"),
    ),
    "SharedMetric": HelperSource(
        '''
class $SharedMetric($mx.metric.EvalMetric):
    """A metric that is read as that of what all workers have counted."""

    def __init__(self, metric):
        self.metric = $mx.metric.create(metric)
        super().__init__(self.metric.name)

    def update(self, labels, preds):
        self.metric.update(labels, preds)

    def update_dict(self, label, pred):
        self.metric.update_dict(label, pred)

    def reset(self):
        self.metric.reset()

    def reset_local(self):
        self.metric.reset_local()

    def get(self):
        return $reduce_metric(self.metric).get()

    def get_global(self):
        return $reduce_metric(self.metric).get_global()

    def get_global_name_value(self):
        return $reduce_metric(self.metric).get_global_name_value()
''',
        (MX,),
        ("reduce_metric",),
    ),
    "add_workers": HelperSource(
        '''
def $add_workers(number):
    """Return the sum of a number, or of an array, over all workers."""
    if $store is None:
        return number
    return $all_reduce($np.ravel(number)).reshape($np.shape(number))[()]
''',
        (NUMPY,),
        ("store", "all_reduce"),
    ),
    "average_workers": HelperSource(
        '''
def $average_workers(number):
    """Return the mean of a number, or of an array, over all workers."""
    if $store is None:
        return number
    return $add_workers(number) / $get_num_workers()
''',
        (),
        ("store", "add_workers", "get_num_workers"),
    ),
    "vary_random_numbers": HelperSource(
        '''
def $vary_random_numbers():
    """Let each worker draw dropout and noise of its own."""
    if $get_rank() > 0:
        $mx.random.seed(int($mx.nd.random.uniform(0, 2**30).asscalar()) + $get_rank())
''',
        (MX,),
        ("get_rank",),
    ),
    "share_parameters": SHARE_PARAMETERS,
    "share_statistics": HelperSource(
        '''
def $share_statistics():
    """Make what no trainer updates, such as running means, the mean over the workers."""
    params = [p for p in $share_parameters.params if p.grad_req == "null" and p._data is not None]
    if params:
        values = [param.data(param.list_ctx()[0]).asnumpy() for param in params]
        total = $all_reduce($np.concatenate([value.ravel() for value in values]))
        ends = $np.cumsum([value.size for value in values])
        for param, value, mean in zip(params, values, $np.split(total / $get_num_workers(), ends)):
            param.set_data($mx.nd.array(mean.reshape(value.shape), dtype=value.dtype))
''',
        (MX, NUMPY),
        ("share_parameters", "all_reduce", "get_num_workers"),
    ),
    **DATA_HELPERS,
}
