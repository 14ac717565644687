"""Run by test_split_calls.py: calls that are split over forked ranks, beside those of one process.

Its arguments are a file with the helper, a free folder, and how many ranks there are. It writes one
JSON object per rank: what is wrong, for each case; empty where nothing is.
"""

# mypy: disable-error-code="misc, override, unreachable"

from __future__ import annotations

import copy
import json
import sys
import traceback
from collections import namedtuple
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing, nn

Pair = namedtuple("Pair", ["scores", "hidden"])
Check = Callable[[ModuleType], None]
CASES: dict[str, Check] = {}


def case(check: Check) -> Check:
    """A case that is run on every rank."""
    CASES[check.__name__] = check
    return check


class Net(nn.Module):
    """Rows that stay apart, with curvature in all derivatives."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(width, 5), nn.Linear(5, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.tanh(self.first(x)) ** 2)


class Pairs(Net):
    """Outputs of several shapes, and inputs with and without samples."""

    def forward(self, x: Tensor, *, scale: Tensor, mask: Tensor) -> dict[str, Any]:
        hidden = torch.tanh(self.first(x)) * scale
        scores = self.last(hidden) * mask
        return {"pair": Pair(scores, [hidden.transpose(0, 1)]), "scale": scale, "name": "net"}


class Scaled(nn.Module):
    """Rows divided by what all rows have in common; as much as `coupling` says."""

    def __init__(self, coupling: float, only_last: bool = False) -> None:
        super().__init__()
        self.layer, self.drop = nn.Linear(3, 3), nn.Dropout(0.5)
        self.coupling, self.only_last = coupling, only_last
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        out = self.drop(self.layer(x))
        mixed = out + self.coupling * out.sum(0)
        return torch.cat([out[:-1], mixed[-1:]]) if self.only_last else mixed


class Shape(nn.Module):
    """Rows that are given back the other way round: samples are counted along axis 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).transpose(0, 1)


def numbers(*shape: int) -> Tensor:
    """Some numbers, the same on all ranks."""
    return torch.sin(torch.arange(1.0, torch.Size(shape).numel() + 1) * 1.7).reshape(shape)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    """A model with the same parameters on all ranks."""
    torch.manual_seed(3)
    return make()


def grads(model: nn.Module) -> list[Tensor]:
    """The gradients of a model."""
    return [torch.zeros(()) if p.grad is None else p.grad for p in model.parameters()]


def same(found: Any, expected: Any) -> None:
    """Fail where two lists of tensors, or two tensors, differ."""
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def compared(
    helper: ModuleType, step: Callable[[Any, Tensor], Tensor], total: int, axis: int = 0
) -> None:
    """Fail where gradients of parameters or of the batch are not those of one process."""
    alone = seeded(Net)
    split = helper.SplitCalls(copy.deepcopy(alone), inputs=axis, outputs=axis)
    shape = [4, 4, 3]
    shape[axis] = total
    batches = [numbers(*shape).requires_grad_() for _ in range(2)]
    for _ in range(2):
        losses = [step(m, batch) for m, batch in zip((alone, split), batches, strict=True)]
        for loss in losses:
            loss.backward()
    assert bool(split.calls) == (total >= dist.get_world_size())
    same(losses[1], losses[0])
    same(grads(split), grads(alone))
    same(batches[1].grad, batches[0].grad)


def plain(model: Any, batch: Tensor) -> Tensor:
    return ((model(batch) - 1) ** 2).mean()


def coupled(model: Any, batch: Tensor) -> Tensor:
    return model(batch).std() / model(batch).abs().max()


def penalised(model: Any, batch: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(model(batch).pow(2).sum(), batch, create_graph=True)
    return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


def fed_twice(model: Any, batch: Tensor) -> Tensor:
    return (model(model(batch) * batch) ** 3).sum()


def curved(model: Any, batch: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(model(batch).pow(3).mean(), batch, create_graph=True)
    (curve,) = torch.autograd.grad(slope.pow(2).sum(), batch, create_graph=True)
    return curve.std()


STEPS = (plain, coupled, penalised, fed_twice, curved)
TOTALS = (1, 2, 5, 6)


def compared_case(step: Callable[[Any, Tensor], Tensor], total: int, axis: int) -> Check:
    return lambda helper: compared(helper, step, total, axis)


for one in STEPS:
    for many in TOTALS:
        CASES[f"{one.__name__} {many}"] = compared_case(one, many, 0)
    CASES[f"{one.__name__} 5 along 1"] = compared_case(one, 5, 1)


@case
def rows_are_shared_out_evenly(helper: ModuleType) -> None:
    for total in range(9):
        counts = helper.rows_of_ranks(total)
        assert sum(counts) == total and max(counts) - min(counts) <= 1
        assert len(counts) == dist.get_world_size()


@case
def each_rank_computes_its_rows_only(helper: ModuleType) -> None:
    model, seen = Net(), []
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].detach().clone()))
    batch = numbers(7, 3)
    counts, rank = helper.rows_of_ranks(7), dist.get_rank()
    helper.SplitCalls(model)(batch)
    same(seen, [batch.split(counts)[rank]])


@case
def values_are_nested(helper: ModuleType) -> None:
    alone = seeded(Pairs)
    outputs = {"pair": (0, (1,)), "scale": None, "name": None}
    split = helper.SplitCalls(copy.deepcopy(alone), keywords={"scale": None}, outputs=outputs)
    given = {"scale": numbers(5), "mask": numbers(7, 3)}
    expected, found = alone(numbers(7, 3), **given), split(numbers(7, 3), **given)
    assert split.calls == 1 and found["name"] == "net"
    assert type(found["pair"]) is Pair and type(found["pair"].hidden) is list
    same(found["pair"].scores, expected["pair"].scores)
    same(found["pair"].hidden, expected["pair"].hidden)
    same(found["scale"], expected["scale"])


@case
def other_calls_are_computed_whole(helper: ModuleType) -> None:
    alone = seeded(Net)
    split = helper.SplitCalls(copy.deepcopy(alone))
    same(split(numbers(3)), alone(numbers(3)))
    with torch.no_grad():
        same(split(numbers(4, 3)), alone(numbers(4, 3)))
    assert split.calls == 0 and split.dims is None
    split(numbers(7, 3))
    assert split.calls == 1 and split.dims == [2]
    for shape in ((3,), (2, 7, 3), (0, 3)):
        same(split(numbers(*shape)), alone(numbers(*shape)))
    assert split.calls == 1
    with torch.no_grad():
        same(split(numbers(7, 3)), alone(numbers(7, 3)))
    assert split.calls == 2


@case
def inputs_of_unequal_sizes_are_computed_whole(helper: ModuleType) -> None:
    split = helper.SplitCalls(nn.Bilinear(3, 3, 2))
    split(numbers(6, 3), numbers(6, 3))
    assert split.calls == 1
    pairs = helper.SplitCalls(Pairs())
    pairs(numbers(6, 3), scale=numbers(1, 5), mask=numbers(1, 3))
    assert pairs.calls == 0


def fails(expected: type[Exception], words: str, act: Callable[[], object]) -> None:
    """Fail unless something fails, with some words."""
    try:
        act()
    except expected as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"nothing is said of: {words}")


class Steps(nn.Module):
    """One character at a time, and a state whose first axis counts layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell = nn.Embedding(5, 3), nn.GRU(3, 3, num_layers=4)

    def forward(self, character: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        output, state = self.cell(self.words(character).view(1, 1, -1), state)
        return output.view(1, -1), state


@case
def a_number_without_rows_is_computed_whole(helper: ModuleType) -> None:
    alone = seeded(Steps)
    split = helper.CheckedSplitCalls(copy.deepcopy(alone))
    for model in (alone, split):
        state = torch.zeros(4, 1, 3)
        for character in torch.tensor([1, 4, 2]):
            output, state = model(character, state)
        output.sum().backward()
    same(grads(split.module), grads(alone))


@case
def another_batch_stops_all_ranks(helper: ModuleType) -> None:
    for good in range(3):
        split = helper.SplitCalls(Net())
        for _ in range(good):
            split(numbers(6, 3))
        other = numbers(6, 3) + dist.get_rank() * 1e-2
        fails(RuntimeError, "another batch", lambda one=split, two=other: one(two))
    split = helper.SplitCalls(Net())
    split(numbers(6, 3) * float("nan"))


@case
def what_is_trained_whole_is_compared_too(helper: ModuleType) -> None:
    split = helper.SplitCalls(Net())
    other = numbers(3) + dist.get_rank() * 1e-2
    fails(RuntimeError, "another batch", lambda: split(other))
    with torch.no_grad():
        split(other)


class Listed(nn.Module):
    """Learns from lists, and from one number more on each rank where it is told to."""

    def __init__(self, apart: bool) -> None:
        super().__init__()
        self.layer, self.apart = nn.Linear(3, 2), apart

    def forward(self, listed: list[float]) -> torch.Tensor:
        shift = dist.get_rank() * 1e-2 if self.apart else 0.0
        return self.layer(torch.tensor(listed) + shift)


@case
def what_is_made_of_no_tensors_is_compared_behind_the_call(helper: ModuleType) -> None:
    split = helper.SplitCalls(Listed(apart=False))
    alone = split.module(listed := [1.0, 2.0, 3.0])
    assert torch.equal(split(listed), alone)
    apart = helper.SplitCalls(Listed(apart=True))
    fails(RuntimeError, "another batch", lambda: apart(listed))


@case
def an_output_without_rows_is_refused(helper: ModuleType) -> None:
    for total in (9, 12):
        split = helper.SplitCalls(Shape())
        fails(ValueError, "no row per sample", lambda one=split, n=total: one(numbers(n, 3)))
    split = helper.SplitCalls(Net(), outputs=2)
    fails(ValueError, "no row per sample", lambda: split(numbers(6, 3)))


@case
def noise_differs_within_the_model_only(helper: ModuleType) -> None:
    torch.manual_seed(5)
    split = helper.SplitCalls(nn.Sequential(nn.Linear(3, 64), nn.Dropout(0.5)))
    with torch.no_grad():
        split.module[0].weight.zero_()
        split.module[0].bias.fill_(1.0)
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(5)
    size = dist.get_world_size()
    rows = split(numbers(size, 3))
    assert len({tuple(row.tolist()) for row in rows}) == size
    assert not torch.equal(rows, split(numbers(size, 3)))
    same(torch.rand(4), expected)


@case
def a_first_batch_shows_rows_that_depend_on_each_other(helper: ModuleType) -> None:
    for total in (dist.get_world_size(), 5, 6):
        for only_last in (False, True):
            # A last row that looks at all rows differs on the last rank alone.
            split = helper.CheckedSplitCalls(seeded(lambda last=only_last: Scaled(0.1, last)))
            batch = numbers(total, 3)
            fails(RuntimeError, "depend on each other", lambda one=split, two=batch: one(two))


@case
def a_first_batch_shows_rows_that_are_apart(helper: ModuleType) -> None:
    for total in (1, 2, 5, 6):
        split = helper.CheckedSplitCalls(seeded(lambda: Scaled(0.0)))
        split(numbers(total, 3))
        assert split.module.seen == 1 and split.module.training and split.module.drop.training
        if total < dist.get_world_size():
            continue
        shape = helper.CheckedSplitCalls(seeded(Shape))
        with torch.no_grad():
            shape.module.layer.weight[0] += 1
        out = shape(numbers(total, 3))
        same(out, shape.module(numbers(total, 3)))
        assert shape.outputs == 1


@case
def what_is_evaluated_stays_so(helper: ModuleType) -> None:
    model = seeded(lambda: Scaled(0.0))
    model.drop.eval()
    helper.CheckedSplitCalls(model)(numbers(6, 3))
    assert model.training and not model.drop.training


class Actor(Net):
    """A model that is called by its methods alone, one of which calls another."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def hidden(self, x: Tensor) -> Tensor:
        self.sizes.append(len(x))
        return torch.tanh(self.first(x)) ** 2

    def evaluate(self, x: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        out = self.last(self.hidden(x))
        return out * scale[:, None], out.sum(1)


def split_actor(helper: ModuleType, kind: str = "SplitMethod", **axes: Any) -> nn.Module:
    """An actor whose methods are split."""

    class Split(Actor):
        hidden = helper.split_method(getattr(helper, kind), **axes)(Actor.hidden)
        evaluate = helper.split_method(getattr(helper, kind), **axes)(Actor.evaluate)

    return seeded(Split)


def average(model: nn.Module) -> None:
    """Do what stands before each step of an optimizer."""
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


@case
def methods_are_split_once(helper: ModuleType) -> None:
    alone = seeded(Actor)
    for kind in ("SplitMethod", "CheckedSplitMethod"):
        for total in (1, 5, 6):
            split = split_actor(helper, kind)
            alone.zero_grad()
            for model in (alone, split):
                out, sums = model.evaluate(numbers(total, 3), numbers(total))
                (out.std(correction=0) + sums.abs().max() + model.hidden(out).mean()).backward()
            average(split)
            same(grads(split), grads(alone))
            own = helper.rows_of_ranks(total)[dist.get_rank()]
            expected = own if total >= dist.get_world_size() else total
            # The first batch is compared with what it is as a whole.
            assert split.sizes[-2:] == [expected] * 2 or kind != "SplitMethod"


@case
def methods_without_gradients_are_whole(helper: ModuleType) -> None:
    split = split_actor(helper)
    with torch.no_grad():
        split.hidden(numbers(6, 3))
    assert split.sizes == [6]
    split.hidden(numbers(6, 3))
    assert split.sizes == [6, helper.rows_of_ranks(6)[dist.get_rank()]]


@case
def methods_that_fail_leave_others_split(helper: ModuleType) -> None:
    split = split_actor(helper)
    fails(RuntimeError, "", lambda: split.hidden(numbers(6, 2)))
    split.hidden(numbers(6, 3))
    assert split.sizes[-1] == helper.rows_of_ranks(6)[dist.get_rank()]


@case
def methods_with_mixed_rows_stop(helper: ModuleType) -> None:
    class Mixed(Actor):
        def hidden(self, x: Tensor) -> Tensor:
            return x - x.mean(0) + self.first(x).sum() * 0

    class Split(Mixed):
        hidden = helper.split_method(helper.CheckedSplitMethod)(Mixed.hidden)

    fails(RuntimeError, "depend on each other", lambda: seeded(Split).hidden(numbers(6, 3)))


def run_rank(rank: int, size: int, helper: str, folder: str) -> None:
    """Run all cases as one rank."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    module = ModuleType("split_calls")
    sys.modules["transpile.rules.pytorch.emitted.processes"] = processes = ModuleType("processes")
    processes.__dict__["get_world_size"] = lambda: dist.get_world_size()
    processes.__dict__["get_rank"] = lambda: dist.get_rank()
    exec(compile(Path(helper).read_text("utf-8"), helper, "exec"), module.__dict__)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/joined{size}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=20),
    )
    wrong = {}
    for name, check in CASES.items():
        try:
            check(module)
            wrong[name] = ""
        except Exception:
            wrong[name] = traceback.format_exc(limit=-3)
        if wrong[name]:
            break  # The others may be in another collective by now.
    Path(folder, f"{size}-{rank}.json").write_text(json.dumps(wrong), "utf-8")


if __name__ == "__main__":
    size = int(sys.argv[3])
    context = multiprocessing.get_context("fork")
    ranks = [
        context.Process(target=run_rank, args=(rank, size, sys.argv[1], sys.argv[2]))
        for rank in range(size)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
