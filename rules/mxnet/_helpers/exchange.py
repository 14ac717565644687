"""The helper functions through which workers exchange arrays and random numbers."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import ITERTOOLS, MX, NUMPY, RANDOM

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

EXCHANGE: dict[str, HelperTemplate] = {
    "add_up_gradients": HelperSource(
        '''
def $add_up_gradients(trainer, average=False):
    """Give every worker the gradients of all, before the step of a trainer uses them."""
    if $store is None:
        return
    trainer.allreduce_grads()
    for param in trainer._params:
        for gradient in param.list_grad() if average and param.grad_req != "null" else ():
            gradient[:] /= $get_num_workers()
''',
        (),
        ("store", "get_num_workers"),
    ),
    "average_gradients": HelperSource(
        '''
def $average_gradients(trainer):
    """Divide gradients that are the sums over all workers by their number."""
    if $store is None:
        return
    for param in trainer._params:
        for gradient in param.list_grad() if param.grad_req != "null" else ():
            gradient[:] /= $get_num_workers()
''',
        (),
        ("store", "get_num_workers"),
    ),
    "step_alone": HelperSource(
        '''
def $step_alone(trainer):
    """Return the step of a trainer whose gradients have been added up."""
    return trainer.step if $store is None else trainer.update
''',
        (),
        ("store",),
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
}
