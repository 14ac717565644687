"""Sees every optimizer step, every backward pass and the parameters that come of them."""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
from collections.abc import Callable
from typing import Any

from transpile.verify.worker.inputs import InputObserver
from transpile.verify.worker.journal import Journal
from transpile.verify.worker.layers import LayerObserver
from transpile.verify.worker.loaders import LoaderObserver
from transpile.verify.worker.tensors import tensor_bytes

_SEEN = "_audit_seen"

NO_OPTIMIZER = -1
"""Stands for the parameters of a script that takes no optimizer's step."""


class StepLimit:
    """Ends a script after so many steps of all its optimizers.

    Args:
        steps: how many; 0 for no limit.
        end: ends the script, and does not return.
    """

    def __init__(self, steps: int, end: Callable[[], None]) -> None:
        self._left = steps
        self._end = end

    def count(self) -> None:
        """Take note of one step."""
        self._left -= 1
        if self._left == 0:
            self._end()


class OptimizerObserver:
    """Watches optimizers, backward passes and the modules that synchronise gradients."""

    def __init__(
        self,
        journal: Journal,
        loaders: LoaderObserver,
        watching: tuple[InputObserver | LayerObserver, ...],
        limit: StepLimit | None = None,
    ) -> None:
        self._limit = limit or StepLimit(0, lambda: None)
        self._journal = journal
        self._loaders = loaders
        self._watching = watching
        self._torch: Any = importlib.import_module("torch")
        self._optimizers: list[Any] = []
        self._stepped: set[int] = set()
        self._stepping: set[int] = set()
        self._wrapped: dict[int, Any] = {}
        self._parameters: list[Any] = []
        self._differentiated = False
        self._steps = 0

    def install(self) -> None:
        """Start watching."""
        self._watch_steps()
        self._watch_scaling()
        self._watch_backward()
        self._watch_wrapping()
        self._watch_parameters()

    def _watch_steps(self) -> None:
        optimizer_class = self._torch.optim.Optimizer
        plain_init = optimizer_class.__init__

        @functools.wraps(plain_init)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            plain_init(optimizer, *args, **kwargs)
            self._number(optimizer)
            owner = type(optimizer)
            if not getattr(owner.step, _SEEN, False):
                owner.step = self._observed(owner.step)

        optimizer_class.__init__ = init

    def _observed(self, plain_step: Any) -> Any:
        @functools.wraps(plain_step)
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            # A class of the script's own may call its base class's step: that is one step.
            if id(optimizer) in self._stepping:
                return plain_step(optimizer, *args, **kwargs)
            learning_rates = [float(group.get("lr", 0.0)) for group in optimizer.param_groups]
            self._stepping.add(id(optimizer))
            try:
                result = plain_step(optimizer, *args, **kwargs)
            finally:
                self._stepping.discard(id(optimizer))
            self._record(optimizer, learning_rates)
            return result

        setattr(step, _SEEN, True)
        return step

    def _watch_scaling(self) -> None:
        """Count the steps that are skipped because gradients do not fit half precision, too.

        Which ones do is chance: of the order of samples, and of how they are shared out.
        """
        amp = self._torch.cuda.amp.GradScaler
        for owner in {amp, *amp.__mro__}:
            if "_maybe_opt_step" in vars(owner):
                owner._maybe_opt_step = self._scaled(owner._maybe_opt_step)

    def _scaled(self, plain_step: Any) -> Any:
        @functools.wraps(plain_step)
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = self._steps
            result = plain_step(scaler, optimizer, *args, **kwargs)
            if self._steps == before:
                self._record(
                    optimizer, [float(group.get("lr", 0.0)) for group in optimizer.param_groups]
                )
            return result

        return step

    def _number(self, optimizer: Any) -> int:
        for position, known in enumerate(self._optimizers):
            if known is optimizer:
                return position
        # Also from its first step: copies and unpickled ones are made without `__init__`.
        self._optimizers.append(optimizer)
        return len(self._optimizers) - 1

    def _record(self, optimizer: Any, learning_rates: list[float]) -> None:
        self._steps += 1
        number = self._number(optimizer)
        first = number not in self._stepped
        if first:
            self._stepped.add(number)
            self._parameters.clear()
            self._introduce(number, type(optimizer).__name__, _parameters(optimizer))
        self._journal.write(
            "step",
            number=number,
            learning_rates=learning_rates,
            open=self._loaders.current,
            seconds=self._journal.seconds,
        )
        if first:
            digest = hashlib.sha256()
            for parameter in _parameters(optimizer):
                digest.update(tensor_bytes(parameter))
            self._journal.write("first", number=number, digest=digest.hexdigest())
        if self._journal.own_process:
            self._limit.count()

    def _introduce(self, number: int, kind: str, parameters: list[Any]) -> None:
        self._journal.write(
            "optimizer",
            number=number,
            kind=kind,
            shapes=[list(parameter.shape) for parameter in parameters],
            wrapped=[id(parameter) in self._wrapped for parameter in parameters],
            sharded=any(hasattr(parameter, "to_local") for parameter in parameters),
        )

    def _watch_parameters(self) -> None:
        """Keep all parameters until an optimizer steps: some scripts update them by hand."""
        parameter_class = self._torch.nn.Parameter
        plain_new = parameter_class.__new__

        def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
            parameter = plain_new(cls, *args, **kwargs)
            if not self._stepped and self._journal.own_process:
                self._parameters.append(parameter)
            return parameter

        parameter_class.__new__ = staticmethod(new)

    def _watch_backward(self) -> None:
        # `Tensor.backward` looks `autograd.backward` up when it is called.
        self._watch_gradients("backward")
        self._watch_gradients("grad")

    def _watch_gradients(self, name: str) -> None:
        autograd = self._torch.autograd
        plain = getattr(autograd, name)

        @functools.wraps(plain)
        def observed(*args: Any, **kwargs: Any) -> Any:
            self._differentiated = True
            current = self._loaders.current
            self._journal.write(name, open=current, loss=self._loss(args, kwargs))
            for each in self._watching:
                each.differentiated(from_loader=bool(current))
            return plain(*args, **kwargs)

        setattr(autograd, name, observed)

    def _loss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
        """The number that is differentiated, where it is one."""
        given: Any = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
        if isinstance(given, (tuple, list)) and len(given) == 1:
            (given,) = given
        if type(given) is not self._torch.Tensor or given.numel() != 1:
            return None
        value = float(given.detach())
        return value if math.isfinite(value) else None

    def _watch_wrapping(self) -> None:
        wrapper_class = self._torch.nn.parallel.DistributedDataParallel
        plain_init = wrapper_class.__init__

        @functools.wraps(plain_init)
        def init(wrapper: Any, *args: Any, **kwargs: Any) -> None:
            plain_init(wrapper, *args, **kwargs)
            for parameter in wrapper.parameters():
                self._wrapped[id(parameter)] = parameter

        wrapper_class.__init__ = init

    def finish(self) -> None:
        """Record the parameters as they are now."""
        for number in sorted(self._stepped):
            self._leave(number, _parameters(self._optimizers[number]))
        by_hand = [parameter for parameter in self._parameters if parameter.requires_grad]
        if by_hand and self._differentiated:
            self._introduce(NO_OPTIMIZER, "no optimizer", by_hand)
            self._leave(NO_OPTIMIZER, by_hand)

    def _leave(self, number: int, parameters: list[Any]) -> None:
        name = f"parameters-{number}.f64"
        digest = hashlib.sha256()
        with (self._journal.directory / name).open("wb") as file:
            for parameter in parameters:
                data = tensor_bytes(parameter)
                digest.update(data)
                file.write(data)
        self._journal.write("final", number=number, digest=digest.hexdigest(), file=name)


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
