"""The helper functions for parameters, their gradients and the ways to share these."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate

#: What is called on a DistOpt for each choice.
SENT = {
    "fp32": "backward_and_update(loss)",
    "fp16": "backward_and_update_half(loss)",
    "partialUpdate": "backward_and_partial_update(loss)",
    "sparseTopK": "backward_and_sparse_update(loss, topK=True, spars=@)",
    "sparseThreshold": "backward_and_sparse_update(loss, topK=False, spars=@)",
}


def update_together(options: Options) -> HelperSource:
    """The helper that updates with gradients that travel in the form that was chosen."""
    sent = SENT[options.plain_dist_option].replace("@", repr(options.spars))
    return HelperSource(
        f'''
def $update_together(optimizer, loss):
    """Update with the gradients of all processes; with its own for one process."""
    shared = $shared_optimizer()
    if shared is None:
        optimizer(loss)
    else:
        shared.{sent}
''',
        (),
        ("shared_optimizer",),
        without_group=True,
    )


PARAMETERS: dict[str, HelperTemplate] = {
    "share_parameters": HelperSource(
        '''
def $share_parameters(model):
    """Give all processes the parameters and states of rank 0."""
    shared = $shared_optimizer()
    if shared is not None:
        for state in model.get_states().values():
            if shared.global_rank != 0:
                state.set_value(0.0)
            shared.all_reduce(state.data)
        shared.wait()
''',
        (),
        ("shared_optimizer",),
        without_group=True,
    ),
    "vary_dropout": HelperSource(
        '''
def $vary_dropout():
    """Let each process drop out by random numbers of its own; one process keeps its own."""
    if $own_gpu() is not None:
        $own_gpu().SetRandSeed($get_rank() + 1)
''',
        (),
        ("own_gpu", "get_rank"),
        without_group=True,
    ),
    "share_gradients": HelperSource(
        '''
def $share_gradients(pairs):
    """Average the gradients that a backward pass gives over all processes."""
    shared, pairs = $shared_optimizer(), list(pairs)
    if shared is not None:
        for _, gradient in pairs:
            shared.all_reduce(gradient.data)
        shared.wait()
        for _, gradient in pairs:
            gradient /= shared.world_size
    return pairs
''',
        (),
        ("shared_optimizer",),
        without_group=True,
    ),
    "scale_learning_rate": HelperSource(
        '''
def $scale_learning_rate(rate):
    """Return a learning rate for a batch that grows with the number of processes."""
    return rate * $get_world_size()
''',
        (),
        ("get_world_size",),
        without_group=True,
    ),
    "scale_learning_rate_by_root": HelperSource(
        '''
def $scale_learning_rate_by_root(rate):
    """Return a learning rate for a batch that grows with the number of processes."""
    return rate * $get_world_size() ** 0.5
''',
        (),
        ("get_world_size",),
        without_group=True,
    ),
    "update_together": update_together,
}
