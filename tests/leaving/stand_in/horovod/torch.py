"""What tests use of ``horovod.torch``, written for them after its documentation, over Gloo.

This is not Horovod. It joins by the environment that torchrun makes; gradients are averaged when
the optimizer steps, or when it is told to synchronise, those of parameters without any as zeros.
"""

import contextlib
import os

import torch
import torch.distributed as dist

Average, Sum, Adasum = "average", "sum", "adasum"


class Compression:
    none = "none"
    fp16 = "fp16"


def init():
    if "RANK" in os.environ:
        dist.init_process_group("gloo")


def shutdown():
    if dist.is_initialized():
        dist.destroy_process_group()


def rank():
    return int(os.environ.get("RANK", 0))


def local_rank():
    return int(os.environ.get("LOCAL_RANK", 0))


def local_size():
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def nccl_built():
    return 0


def size():
    return int(os.environ.get("WORLD_SIZE", 1))


def allreduce(tensor, average=None, name=None, op=Average):
    total = tensor.detach().clone()
    if dist.is_initialized():
        dist.all_reduce(total)
    return total if op == Sum or average is False else (total / size()).to(total.dtype)


def allgather(tensor, name=None):
    return torch.cat(allgather_object(tensor))


def allgather_object(obj, name=None):
    found = [obj] * size()
    if dist.is_initialized():
        dist.all_gather_object(found, obj)
    return found


def broadcast_object(obj, root_rank=0, name=None):
    return allgather_object(obj)[root_rank]


def broadcast(tensor, root_rank, name=None):
    return broadcast_object(tensor.detach().clone(), root_rank)


def broadcast_parameters(params, root_rank):
    pairs = params.items() if isinstance(params, dict) else params
    for _, tensor in sorted(pairs):
        tensor.data.copy_(broadcast(tensor, root_rank))


def broadcast_optimizer_state(optimizer, root_rank):
    optimizer.load_state_dict(broadcast_object(optimizer.state_dict(), root_rank))


def join():
    if dist.is_initialized():
        dist.barrier()
    return size() - 1


def DistributedOptimizer(
    optimizer,
    named_parameters=None,
    compression=None,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
):
    class Distributed(type(optimizer)):
        skips = False

        def synchronize(self):
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.requires_grad:
                        if parameter.grad is None:
                            parameter.grad = torch.zeros_like(parameter)
                        parameter.grad.copy_(allreduce(parameter.grad))

        @contextlib.contextmanager
        def skip_synchronize(self):
            self.skips = True
            yield
            self.skips = False

        def step(self, closure=None):
            if not self.skips:
                self.synchronize()
            return super().step(closure)

    optimizer.__class__ = Distributed
    return optimizer
