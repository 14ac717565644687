"""Noise that is the same for each row, for the check that rows do not depend on each other."""

import contextlib
from typing import Any


def same_noise() -> Any:
    """Draw the same for each row, so that rows computed apart are those of a batch."""
    try:
        from torch.utils._python_dispatch import TorchDispatchMode
    except ImportError:  # before PyTorch 1.12
        return contextlib.nullcontext()

    plain = (
        "rand randn randint rand_like randn_like randint_like normal_ uniform_ random_ "
    )
    plain += "exponential_ log_normal_ cauchy_ geometric_"

    class SameNoise(TorchDispatchMode):
        """Puts a constant, or what a distribution is given, in the place of what is drawn."""

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            name = function.overloadpacket.__name__
            given = [each for each in args if hasattr(each, "dim")]
            if name in plain.split():
                result.fill_(0.5 if result.is_floating_point() else 0)
            elif name == "bernoulli_":
                result.copy_(given[1]) if len(given) > 1 else result.fill_(1)
            elif name == "bernoulli":
                result.copy_(given[0])
            elif name == "normal" and given:
                result.copy_(args[0] + (0.5 * args[1] if len(args) > 1 else 0.5))
            return result

    return SameNoise()
