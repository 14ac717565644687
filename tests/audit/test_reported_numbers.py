"""Numbers of one process on their way to the report, and sums of means, beside right ones."""

from __future__ import annotations

import pytest

from transpile.auditing import audit

HEAD = """\
import json
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from timm.utils import AverageMeter
from tqdm import tqdm


class Meter:
    def __init__(self):
        self.sum = 0.0
        self.count = 0
        self.avg = 0.0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return f"{self.avg:.3f}"


def reduced(tensor, {argument}):
    copy = tensor.clone()
    dist.{reduce}
    {divide}
    return copy


data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
rank, size = dist.get_rank(), dist.get_world_size()
model = DDP(nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
sampler, held_out = DistributedSampler(data), DistributedSampler(data, shuffle=False)
loader = DataLoader(data, batch_size=8, sampler=sampler)
evaluated = DataLoader(data, batch_size=8, sampler=held_out)
meter, total = {meter}, 0.0
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
"""
EVALUATED = """\
    with torch.no_grad():
        for x, y in evaluated:
            error = criterion(model(x.cuda()), y.cuda())
            {number}
            meter.update(error.item(), len(x))
            total += error.item()
    {report}
"""
PLAIN = {
    "argument": "count=size",
    "reduce": "all_reduce(copy)",
    "divide": "copy /= dist.get_world_size()",
    "meter": "Meter()",
}


def codes(text: str, **parts: str) -> set[str]:
    script = HEAD
    for name, part in {**PLAIN, **parts}.items():
        script = script.replace(f"{{{name}}}", part)
    found = audit(script + text)
    return {one.code for one in found} & {"AU601", "AU602", "AU603"}


def evaluated(report: str, number: str = "", **parts: str) -> set[str]:
    return codes(EVALUATED.replace("{report}", report).replace("{number}", number), **parts)


@pytest.mark.parametrize(
    "report",
    [
        "print(meter)",
        "print('{} {}'.format(epoch, meter))",
        "print('error {m.avg:.3f}'.format(m=meter))",
        "print('\\t'.join(['error', str(meter)]))",
        "print({'error': meter.avg})",
        "if rank == 0: open('log.txt', 'a').write(json.dumps({'error': meter.avg}) + '\\n')",
        "logging.info('error %s', total)",
        "tqdm(range(3)).set_postfix(error=meter.avg)",
    ],
)
def test_numbers_are_followed_to_what_shows_them(report: str) -> None:
    assert evaluated(report) == {"AU601"}
    agreed = "error = reduced(error, size)"
    assert evaluated(report, agreed) == set()


def test_a_meter_of_a_library_is_followed() -> None:
    assert evaluated("print(meter.avg)", meter="AverageMeter()") == {"AU601"}
    assert (
        evaluated("print(meter.avg)", "error = reduced(error, size)", meter="AverageMeter()")
        == set()
    )


def test_what_a_text_does_not_show_of_a_meter_is_not_reported() -> None:
    assert evaluated("print('{m.name}'.format(m=meter))") == set()


def test_files_of_each_process_have_its_own_numbers() -> None:
    assert evaluated("open(f'log_{rank}.txt', 'a').write(f'{meter.avg}\\n')") == set()


def test_training_numbers_of_a_logger_that_is_silent_elsewhere() -> None:
    line = "    logging.info(f'loss {loss.item()}')\n"
    silent = "logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARN)\n"
    assert codes(line) == set()
    assert codes(line + silent) == {"AU602"}


UNDIVIDED = {"divide": "pass"}


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        ("all_reduce(copy)", {"AU603"}),
        ("all_reduce(copy, op=dist.ReduceOp.SUM)", {"AU603"}),
        ("all_reduce(copy, op=dist.reduce_op.SUM)", {"AU603"}),
        ("reduce(copy, dst=0)", {"AU603"}),
        ("reduce(copy, 0, dist.ReduceOp.SUM)", {"AU603"}),
        ("all_reduce(copy, op=dist.ReduceOp.AVG)", set()),
        ("reduce(copy, 0, dist.ReduceOp.MAX)", set()),
    ],
)
@pytest.mark.parametrize("report", ["print(f'error: {meter.avg}' f'!')", "print(meter)"])
def test_sums_of_means_are_followed_through_meters(
    report: str, reduce: str, expected: set[str]
) -> None:
    number = "error = reduced(error, size)"
    assert evaluated(report, number, reduce=reduce, **UNDIVIDED) == expected
    assert evaluated(report, number, reduce=reduce) <= {"AU603"} - expected


@pytest.mark.parametrize("divide", ["copy /= count", "copy = copy / int(os.environ['COUNT'])"])
def test_what_is_divided_by_a_setting_may_be_divided_by_the_processes(divide: str) -> None:
    assert evaluated("print(meter.avg)", "error = reduced(error, size)", divide=divide) == set()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("error = reduced((model(x) - 1).abs().mean(), size)", {"AU603"}),
        ("error = reduced((model(x) - 1).abs().sum(), size)", set()),
        ("error = reduced((y == 1).sum().mul_(100.0 / y.size(0)), size)", {"AU603"}),
        ("error = reduced((y == 1).sum().mul_(100.0), size)", set()),
    ],
)
def test_means_of_one_batch_are_told_from_sums(number: str, expected: set[str]) -> None:
    assert evaluated("print(meter.avg)", number, **UNDIVIDED) == expected


def test_steps_that_fall_as_processes_are_added_do_not_divide_by_them() -> None:
    counted = """\
    steps = 4096 // (8 * size)
    total = 0.0
    with torch.no_grad():
        for x, y in evaluated:
            total += criterion(model(x.cuda()), y.cuda())
    dist.all_reduce(total)
    total /= steps
    print(total)
"""
    assert codes(counted) == {"AU603"}
    assert codes(counted.replace("4096 // (8 * size)", "8 * size")) == set()
