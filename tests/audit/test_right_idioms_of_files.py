"""Files, logs, checkpoints and functions of correct scripts; and the bugs beside them."""

from __future__ import annotations

import pytest

from transpile.auditing import audit

HEAD = """\
import inspect
import logging
import os
import pickle
from pathlib import Path

import mlflow
import torch
import torch.distributed as dist
from accelerate.logging import get_logger
from efficientnet_pytorch import EfficientNet
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
held_out = TensorDataset(torch.randn(63, 4), torch.randn(63, 1))


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        parts = [torch.zeros_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, rows)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *gradients):
        summed = torch.stack(gradients)
        dist.all_reduce(summed)
        return summed[dist.get_rank()]


"""
MAIN = HEAD + """\
{functions}
def main():
    dist.init_process_group("nccl")
    rank, gpu = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    {made}
    model = DDP(model.cuda(), device_ids=[gpu])
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            {loss}.backward()
            optimizer.step()
    {line}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
MADE = "model = torch.nn.Linear(4, 1)"
LOSS = "((model(x.cuda()) - y.cuda()) ** 2).mean()"


def codes(line: str, *, functions: str = "", made: str = MADE, loss: str = LOSS) -> set[str]:
    script = MAIN.format(
        functions=functions, made=made, loss=loss, line=line.replace("\n", "\n    ")
    )
    return {each.code for each in audit(script) if each.level.name in ("WARNING", "ERROR")}


HANDLER = "logger.{inner}addHandler(logging.FileHandler('train.log'{mode}))\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("with open('done.txt', 'a'):\n    pass", set()),
        ("open('done.txt', 'a').close()", set()),
        ("Path('done.txt').touch()", set()),
        ("with open('done.txt', 'w'):\n    pass", {"AU401"}),
        ("with open('done.txt', 'a') as file:\n    file.write('done')", {"AU401"}),
        ("logger = get_logger('train')\n" + HANDLER.format(inner="logger.", mode=""), set()),
        (
            "logger = get_logger('train')\n" + HANDLER.format(inner="logger.", mode=", mode='w'"),
            {"AU401"},
        ),
        (
            "logger = logging.getLogger('train')\n"
            + HANDLER.format(inner="", mode="")
            + "logger.info('done') if rank == 0 else None",
            set(),
        ),
        (
            "logger = logging.getLogger('train')\n"
            + HANDLER.format(inner="", mode="")
            + "logger.info('done')",
            {"AU401"},
        ),
    ],
)
def test_a_file_that_nobody_else_writes_to(line: str, expected: set[str]) -> None:
    assert codes(line) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("model = EfficientNet.from_pretrained('efficientnet-b0')", {"AU404"}),
        (
            "model = EfficientNet.from_pretrained('efficientnet-b0', weights_path='b0.pth')",
            set(),
        ),
        ("model = EfficientNet.from_pretrained(os.environ['WEIGHTS'])", set()),
    ],
)
def test_weights_of_a_folder_are_not_downloaded(made: str, expected: set[str]) -> None:
    assert codes("", made=made) == expected


SAVED = "if rank == 0:\n    torch.save({state}, 'model.pt')"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("model.module.state_dict() if type(model) is DDP else model.state_dict()", set()),
        ("model.module.state_dict() if os.environ['WRAPPED'] else model.state_dict()", set()),
        ("model.state_dict()", {"AU406"}),
        ("(model if os.environ['WRAPPED'] else model.module).state_dict()", {"AU406"}),
    ],
)
def test_a_checkpoint_whose_keys_a_flag_decides(state: str, expected: set[str]) -> None:
    assert codes(SAVED.format(state=state)) == expected


LOADED = """\
state = torch.load('step.pth')
for name in os.listdir(state['folder']):
    optimizer.load_state_dict(torch.load(name, map_location='cpu'))
print(rank)"""


def test_what_names_a_file_is_not_loaded_from_it() -> None:
    assert codes(LOADED) == set()
    assert "AU407" in codes(LOADED + "\noptimizer.load_state_dict(state)")


RESUMED = """\
def resume(optimizer):
    try:
        optimizer.load_state_dict(torch.load("last.pt", map_location="cpu"))
        optimizer.param_groups[0]["initial_lr"] = 0.1
        {inside}
    except Exception:
        print(dist.get_rank(), "starts anew")


"""


def test_resuming_or_starting_anew_makes_nobody_wait() -> None:
    assert codes("resume(optimizer)", functions=RESUMED.format(inside="")) == set()
    functions = RESUMED.format(inside="dist.barrier()")
    assert codes("resume(optimizer)", functions=functions) == {"AU108"}


EVALUATED = """\
evaluated = DataLoader(held_out, batch_size=8, sampler=DistributedSampler(held_out))
right = []
model.eval()
with torch.no_grad():
    for x, y in evaluated:
        right.append((model.module(x.cuda()) > 0).sum().item())
{merged}
if rank == 0:
    {report}"""
MERGED = """\
pickle.dump(right, open(f"part_{rank}.pkl", "wb"))
dist.barrier()
if os.environ.get("MERGED"):
    right = []
    for number in range(dist.get_world_size()):
        right.append(pickle.load(open(f"part_{number}.pkl", "rb")))"""


def test_results_that_are_merged_in_files_are_those_of_all() -> None:
    assert codes(EVALUATED.format(merged=MERGED, report="print(right)")) == set()
    assert codes(EVALUATED.format(merged="", report="print(right)")) == {"AU601"}


def test_a_model_that_a_tracker_keeps_is_no_number() -> None:
    kept = "mlflow.pytorch.log_model(model.module, f'model_{sum(right)}')"
    assert codes(EVALUATED.format(merged="", report=kept)) == set()
    number = "mlflow.log_metric('right', sum(right))"
    assert codes(EVALUATED.format(merged="", report=number)) == {"AU601"}


EXPORTED = """\
def without_gradients(function):
    {kept}


@without_gradients
def export(path="model.txt"):
    with open(path, "w") as file:
        file.write("model")


"""


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("inspect.signature(function)\n    return function", set()),
        ("return torch.no_grad()(function)", set()),
        ("function()\n    return function", {"AU401"}),
    ],
)
def test_a_function_that_is_only_asked_about_does_not_run(kept: str, expected: set[str]) -> None:
    assert codes("", functions=EXPORTED.format(kept=kept)) == expected


def test_a_function_without_gradients_does_what_it_did() -> None:
    functions = EXPORTED.format(kept="return torch.no_grad()(function)")
    assert codes("export()", functions=functions) == {"AU401"}


SPREAD = """\
class Spread(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, rows):
        rows = {gathered}
        rows = rows - rows.mean(dim=0)
        return ((rows.T @ rows) / 7).pow_(2).sum().div(4)


"""


def test_a_sum_over_the_gathered_batch_is_that_of_all() -> None:
    gathered = SPREAD.format(gathered="torch.cat(Gather.apply(self.layer(rows)), dim=0)")
    made = "model = Spread()"
    assert codes("", functions=gathered, made=made, loss="model(x.cuda())") == set()
    assert codes("", loss="model(x.cuda()).pow(2).sum()") == {"AU304"}


NET = """\
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))

    def forward(self, rows):
        return self.layers(rows)


"""
SYNCHRONISED = """\
model = Net()
    if os.environ.get("WEIGHTS"):
        model = torch.load(os.environ["WEIGHTS"], map_location="cpu")
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)"""
SAMPLED = "if rank == 0:\n    model.{mode}()\n    model.module(torch.randn(8, 4).cuda())"


def test_synchronised_batch_norm_talks_to_nobody_in_evaluation() -> None:
    assert codes(SAMPLED.format(mode="eval"), made=SYNCHRONISED, functions=NET) == set()
    assert codes(SAMPLED.format(mode="train"), made=SYNCHRONISED, functions=NET) == {"AU102"}


MEASURED = """\
class Measured(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.most = torch.zeros(4)

    def forward(self, rows):
        if self.training:
            dist.all_reduce(self.most, op=dist.ReduceOp.MAX)
        return self.layer(rows)


"""


def test_what_a_model_does_in_training_alone_is_not_done_in_evaluation() -> None:
    made = "model = Measured()"
    assert codes(SAMPLED.format(mode="eval"), made=made, functions=MEASURED) == set()
    assert codes(SAMPLED.format(mode="train"), made=made, functions=MEASURED) == {"AU101"}
