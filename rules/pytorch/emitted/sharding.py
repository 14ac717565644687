"""Helpers of conversions that spread parameters over the processes."""

import copy
from contextlib import contextmanager
from typing import Any, Iterator

import torch
import torch.distributed as dist
import torch.distributed.device_mesh as device_mesh
import torch.distributed.fsdp as fsdp
import torch.distributed.tensor as dtensor

from transpile.rules.pytorch.emitted.processes import is_main_process


@contextmanager
def gradients_synchronised(model: torch.nn.Module, when: bool) -> Iterator[None]:
    """Average the gradients over all processes now, or leave them to a later backward pass."""
    if isinstance(model, fsdp.FSDPModule):
        model.set_requires_gradient_sync(when)
    yield


def shard_model(model: torch.nn.Module) -> None:
    """Spread the parameters of a model over all processes, block by block."""
    modules = list(model.modules())
    if any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in modules):
        raise SystemExit(
            "a model with batch norm cannot be sharded: convert it for DDP"
        )
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)
    device = next(model.parameters()).device.type
    mesh = device_mesh.init_device_mesh(device, (dist.get_world_size(),))
    own = [p for module in modules for p in module.parameters(recurse=False)]
    # Parameters that modules share must stay together.
    if len(set(own)) == len(own):
        lists = [m for m in reversed(modules) if isinstance(m, torch.nn.ModuleList)]
        for block in dict.fromkeys(block for blocks in lists for block in blocks):
            if any(True for _ in block.children()):
                fsdp.fully_shard(block, mesh=mesh)
    fsdp.fully_shard(model, mesh=mesh)


def gathered(state: Any) -> Any:
    """Return a state with whole tensors, which rank 0 alone keeps, in place of shards."""
    if isinstance(state, dtensor.DTensor):
        whole = state.full_tensor()
        return whole.cpu() if is_main_process() else None
    if isinstance(state, dict):
        whole = copy.copy(state)
        for key, value in state.items():
            whole[key] = gathered(value)
        return whole
    return state


def whole_norm(norm: torch.Tensor) -> torch.Tensor:
    """Return the norm of the gradients of all processes as a tensor of its own."""
    return norm.full_tensor() if isinstance(norm, dtensor.DTensor) else norm


def own_parts(state: Any, model: torch.nn.Module) -> Any:
    """Return a saved state of a model with this process's shards for whole tensors."""
    parts = copy.copy(state)
    for key, shard in model.state_dict().items():
        if isinstance(shard, dtensor.DTensor) and key in parts:
            parts[key] = dtensor.distribute_tensor(
                parts[key].to(shard.device), shard.device_mesh, shard.placements
            )
    return parts


def own_shards(state: Any, optimizer: torch.optim.Optimizer) -> Any:
    """Return the saved state of an optimizer with this process's shards for whole tensors."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    entries = {}
    for number, param in zip(numbers, params):
        if number in state["state"]:
            entry = dict(state["state"][number])
            for key, value in entry.items():
                is_shard = isinstance(param, dtensor.DTensor)
                if is_shard and getattr(value, "shape", None) == param.shape:
                    entry[key] = dtensor.distribute_tensor(
                        value.to(param.device), param.device_mesh, param.placements
                    )
            entries[number] = entry
    return {**state, "state": entries}
