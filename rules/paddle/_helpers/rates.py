"""The helper functions for learning rates."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import DIST

RATES: dict[str, HelperTemplate] = {
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
}
