"""The helper functions that give all workers the same parameters."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import MX, NUMPY

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

PARAMETER_HELPERS: dict[str, HelperTemplate] = {
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
}
