"""The helper functions that give all workers the same parameters."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import MX, NUMPY, RANDOM

PARAMETERS = '''
def $share_parameters(params):
    """Give every worker the initial parameters of rank 0, whenever they get values."""
    if $store is None:
        return params
@host    waiting = []

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
HOST = "    $vary_augmentations()\n"


def share_and_vary(own: bool, augmentations: bool) -> HelperSource:
    """The helper that shares parameters.

    Args:
        own: random numbers of MXNet may differ from worker to worker from then on.
        augmentations: those of numpy and of Python may.
    """
    code = PARAMETERS.replace("@later", LATER if own else "").replace("@now", NOW if own else "")
    code = code.replace("@host", HOST if augmentations else "")
    helpers = ["store", "broadcast"]
    helpers += ["vary_random_numbers"] * own + ["vary_augmentations"] * augmentations
    return HelperSource(code, (MX,), tuple(helpers))


PARAMETER_HELPERS: dict[str, HelperTemplate] = {
    "divide_by_bound_batch": HelperSource(
        '''
def $divide_by_bound_batch(module, optimizer_params=(("learning_rate", 0.01),)):
    """Return settings of an optimizer that divide by the batch that a module was bound to."""
    settings = dict(optimizer_params)
    if $store is not None:
        settings.setdefault("rescale_grad", 1.0 / module._exec_group.batch_size)
    return settings
''',
        (),
        ("store",),
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
    "vary_augmentations": HelperSource(
        '''
def $vary_augmentations():
    """Let each worker augment its samples in its own way."""
    if $get_rank() > 0:
        $np.random.seed($np.random.randint(2**30) + $get_rank())
        $random.seed($random.getrandbits(30) + $get_rank())
''',
        (NUMPY, RANDOM),
        ("get_rank",),
    ),
    "share_parameters": share_and_vary(False, False),
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
}
