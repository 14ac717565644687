"""The helper functions that make the store of all workers."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import MX, OS

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


WORKER_STORE = '''
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
@vary'''


def worker_store(own: bool, augmentations: bool) -> HelperSource:
    """The store of one trainer or module.

    Args:
        own: workers draw random numbers of MXNet of their own once a module is set up.
        augmentations: and those of numpy and of Python.
    """
    names = ["vary_random_numbers"] * own + ["vary_augmentations"] * augmentations
    lines = "".join(f"        ${name}()\n" for name in names)
    return HelperSource(WORKER_STORE.replace("@vary", lines), (MX,), tuple(names))


STORE: dict[str, HelperTemplate] = {
    "WorkerStore": worker_store(False, False),
    "create_store": create_store,
    "store": HelperSource("$store = $create_store()", (), ("create_store",)),
}
