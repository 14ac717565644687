"""Optimizers, and the one that all processes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import autograd, tensor
from .singa_wrap import Communicator
from .tensor import Tensor


class DecayScheduler:
    """What a rate is at each step."""

    def __init__(self, init_value: float) -> None:
        self.init_value = init_value

    def __call__(self, step: float) -> float:
        return self.init_value


class Constant(DecayScheduler):
    """Always the same."""


class ExponentialDecay(DecayScheduler):
    def __init__(
        self, init_value: float, decay_steps: float, decay_rate: float, staircase: bool = False
    ) -> None:
        super().__init__(init_value)
        self.decay_steps, self.decay_rate, self.staircase = decay_steps, decay_rate, staircase

    def __call__(self, step: float) -> float:
        power = step / self.decay_steps
        return float(self.init_value * self.decay_rate ** (power // 1 if self.staircase else power))


class Optimizer:
    """Updates parameters, one after the other."""

    def __init__(self, lr: Any, dtype: str = tensor.float32) -> None:
        self.lr = lr if isinstance(lr, DecayScheduler) else Constant(lr)
        self.step_counter = 0
        self.lr_value = self.lr(0)

    def __call__(self, loss: Tensor) -> None:
        self.call(loss)
        self.step()

    def call(self, loss: Tensor) -> None:
        for p, g in autograd.backward(loss):
            self.apply(p.name or id(p), p, g)

    def step(self) -> None:
        self.step_counter += 1
        self.lr_value = self.lr(self.step_counter)

    def apply(self, param_name: Any, param_value: Tensor, param_grad: Tensor) -> None:
        raise NotImplementedError

    def update(self, param: Tensor, grad: Tensor) -> None:
        self.apply(param.name or id(param), param, grad)

    def backward_and_update(self, loss: Tensor) -> None:
        self(loss)


class SGD(Optimizer):
    def __init__(
        self,
        lr: Any = 0.1,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        dtype: str = tensor.float32,
    ) -> None:
        super().__init__(lr, dtype)
        self.momentum, self.weight_decay = momentum, weight_decay
        self.moments: dict[Any, Any] = {}

    def apply(self, param_name: Any, param_value: Tensor, param_grad: Tensor) -> None:
        g = param_grad.array + self.weight_decay * param_value.array
        if self.momentum:
            moment = self.moments.get(param_name, 0.0) * self.momentum + g
            self.moments[param_name] = g = moment
        param_value.array[...] -= self.lr_value * g


class Adam(Optimizer):
    def __init__(
        self, lr: Any = 0.1, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-8
    ) -> None:
        super().__init__(lr)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.m: dict[Any, Any] = {}
        self.v: dict[Any, Any] = {}

    def apply(self, param_name: Any, param_value: Tensor, param_grad: Tensor) -> None:
        g, count = param_grad.array, self.step_counter + 1
        m = self.beta_1 * self.m.get(param_name, 0.0) + (1 - self.beta_1) * g
        v = self.beta_2 * self.v.get(param_name, 0.0) + (1 - self.beta_2) * g * g
        self.m[param_name], self.v[param_name] = m, v
        m, v = m / (1 - self.beta_1**count), v / (1 - self.beta_2**count)
        param_value.array[...] -= self.lr_value * m / (np.sqrt(v) + self.epsilon)


class DistOpt:
    """Updates with the sum of the gradients of all processes over their number."""

    def __init__(
        self,
        opt: Any = None,
        nccl_id: Any = None,
        local_rank: int | None = None,
        world_size: int | None = None,
        buffSize: int = 4194304,
    ) -> None:
        self.opt = opt if opt is not None else SGD()
        given = (buffSize,) if nccl_id is None else (local_rank, world_size, nccl_id, buffSize)
        self.communicator = Communicator(*given)
        self.world_size = self.communicator.world_size
        self.local_rank = self.communicator.local_rank
        self.global_rank = self.communicator.global_rank
        self.partial = 0
        self.kept: dict[int, Any] = {}

    def __call__(self, loss: Tensor) -> None:
        self.backward_and_update(loss)

    def update(self, param: Tensor, grad: Tensor) -> None:
        grad /= self.world_size
        self.opt.update(param, grad)

    def all_reduce(self, tensor: Any) -> None:
        self.communicator.synch(tensor)

    def wait(self) -> None:
        self.communicator.wait()

    def backward_and_update(self, loss: Tensor, threshold: int = 2097152) -> None:
        pairs = list(autograd.backward(loss))
        for _, g in pairs:
            self.all_reduce(g.data)
        self.finish(pairs)

    def backward_and_update_half(self, loss: Tensor, threshold: int = 2097152) -> None:
        pairs = list(autograd.backward(loss))
        for _, g in pairs:
            g.array[...] = g.array.astype(np.float16)
            self.all_reduce(g.data)
            g.array[...] = g.array.astype(np.float16)
        self.finish(pairs)

    def backward_and_partial_update(self, loss: Tensor, threshold: int = 2097152) -> None:
        pairs = list(autograd.backward(loss))
        for number, (p, g) in enumerate(pairs):
            self.opt.update(p, g)
            if number == self.partial:
                self.all_reduce(p.data)
                p /= self.world_size
        self.partial = (self.partial + 1) % len(pairs)
        self.opt.step()

    def backward_and_sparse_update(
        self,
        loss: Tensor,
        threshold: int = 2097152,
        spars: float = 0.05,
        topK: bool = False,
        corr: bool = True,
    ) -> None:
        pairs = list(autograd.backward(loss))
        for p, g in pairs:
            whole = g.array + self.kept.get(id(p), 0.0)
            least = spars
            if topK:
                least = np.sort(np.abs(whole), axis=None)[-max(1, int(spars * whole.size))]
            g.array[...] = np.where(np.abs(whole) >= least, whole, 0.0)
            self.kept[id(p)] = whole - g.array
            self.all_reduce(g.data)
        self.finish(pairs)

    def finish(self, pairs: list[tuple[Tensor, Tensor]]) -> None:
        """Update with what was added up."""
        self.wait()
        for p, g in pairs:
            self.update(p, g)
        self.opt.step()
