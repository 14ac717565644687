"""``--strategy fsdp``: parameters are spread over the processes, or the reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_way import convert

from transpile import Options, Outcome
from transpile.verify import Auditor
from transpile.verify.evidence import RunEvidence
from transpile.verify.launcher import Launcher
from transpile.verify.table import format_report

torch = pytest.importorskip("torch")

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/pytorch/fully_sharded"
FSDP = Options(strategy="fsdp")
SCRIPT = """\
import copy
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 8)
        {layers}
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        {forward}
        return self.last(torch.relu(self.first(x)))

    def features(self, x):
        return self.first(x)


torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(48, 3), torch.randn(48, 1)), batch_size=6)
model = Net()
{model}
optimizer = {optimizer}
{ready}
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        {batch}
        optimizer.step()
{end}
"""
ADAM = "torch.optim.Adam(model.parameters(), lr=0.01)"


def script(**parts: str) -> str:
    """The script with some of its places filled."""
    filled = dict.fromkeys(("layers", "forward"), "pass")
    filled |= {"model": "", "optimizer": ADAM, "ready": "", "batch": "", "end": ""}
    return SCRIPT.format(**{**filled, **parts})


def refusals(source: str) -> list[str]:
    """Why a script is not converted."""
    return [each.message for each in convert(source, FSDP).findings if each.code[:4] == "PT34"]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher() as running:
        yield running


def run(launcher: Launcher, folder: Path, text: str, world_size: int, *words: str) -> RunEvidence:
    """Run a script in a folder."""
    (folder / "train.py").write_text(text)
    evidence = folder / f"evidence-{len(list(folder.iterdir()))}"
    evidence.mkdir()
    found = launcher.run(
        folder / "train.py",
        words,
        world_size=world_size,
        working_directory=folder,
        evidence=evidence,
        folders={folder: ""},
        timeout_seconds=90,
        double=True,
    )
    assert found.finished, [rank.errors for rank in found.ranks]
    return found


def tensors(state: Any) -> list[Any]:
    """All tensors of a checkpoint, in order."""
    if isinstance(state, dict):
        return [each for value in state.values() for each in tensors(value)]
    return [state] if torch.is_tensor(state) else []


def test_parameters_are_shards_of_blocks(launcher: Launcher, tmp_path: Path) -> None:
    text = (FIXTURE / "train_dist.py").read_text()
    end = text.rindex("    cleanup_distributed()")
    check = (
        "    kinds = {type(p).__name__ for p in model.parameters()}\n"
        "    assert kinds == {'DTensor'}, kinds\n"
        "    assert type(model).__name__ == 'FSDPPredictor' and isinstance(model, Predictor)\n"
        "    assert {type(block).__name__ for block in model.blocks} == {'FSDPBlock'}\n"
        "    rows = model.head.weight.to_local().shape[0]\n"
        "    assert rows == SYMBOLS // 2, rows\n"
    )
    run(launcher, tmp_path, text[:end] + check + text[end:], 2, "--epochs", "1")


def test_checkpoints_are_those_of_one_process(launcher: Launcher, tmp_path: Path) -> None:
    """Also after a run that goes on with what another one has saved."""
    found = {}
    for name, epochs in (("train.py", ("1", "3")), ("train_dist.py", ("1", "3"))):
        folder = tmp_path / name
        folder.mkdir()
        text = (FIXTURE / name).read_text()
        states = []
        for count in epochs:
            run(launcher, folder, text, 1 if name == "train.py" else 2, "--epochs", count)
            states.append(torch.load(folder / "predictor.pt", weights_only=True))
        found[name] = states
    for one, several in zip(found["train.py"], found["train_dist.py"], strict=True):
        assert one["model"].keys() == several["model"].keys()
        assert one["optimizer"]["state"].keys() == several["optimizer"]["state"].keys()
        assert one["optimizer"]["param_groups"] == several["optimizer"]["param_groups"]
        pairs = list(zip(tensors(one), tensors(several), strict=True))
        assert len(pairs) > 60
        for left, right in pairs:
            assert left.shape == right.shape
            torch.testing.assert_close(left, right, rtol=1e-7, atol=1e-9)


def test_a_checkpoint_of_several_goes_on_in_one(launcher: Launcher, tmp_path: Path) -> None:
    several, one = (FIXTURE / "train_dist.py").read_text(), (FIXTURE / "train.py").read_text()
    mixed, plain = tmp_path / "mixed", tmp_path / "plain"
    for folder, texts in ((mixed, (several, one)), (plain, (one, one))):
        folder.mkdir()
        for text, count in zip(texts, ("1", "2"), strict=True):
            run(launcher, folder, text, 2 if text is several else 1, "--epochs", count)
    left = tensors(torch.load(mixed / "predictor.pt", weights_only=True))
    right = tensors(torch.load(plain / "predictor.pt", weights_only=True))
    for a, b in zip(left, right, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)


def test_weights_are_loaded_behind_the_optimizer(launcher: Launcher, tmp_path: Path) -> None:
    """The model, then its optimizer, then the states of both."""
    source = script(
        ready="import os\nif os.path.exists('both.pt'):\n    both = torch.load('both.pt')\n"
        "    model.load_state_dict(both['model'])\n"
        "    optimizer.load_state_dict(both['optimizer'])",
        end="torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, "
        "'both.pt')",
    )
    result = convert(source, FSDP)
    assert "model.load_state_dict(own_parts(both['model'], model))" in result.text
    states = []
    for text, processes in ((source, 1), (result.text, 2)):
        folder = tmp_path / str(processes)
        folder.mkdir()
        for _ in range(2):
            run(launcher, folder, text, processes)
        states.append(tensors(torch.load(folder / "both.pt", weights_only=True)))
    for one, several in zip(*states, strict=True):
        torch.testing.assert_close(one, several, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_training_is_that_of_one_process(auditor: Auditor, tmp_path: Path, optimizer: str) -> None:
    source = script(
        optimizer=f"torch.optim.{optimizer}(model.parameters(), lr=0.05, weight_decay=0.1)",
        batch="nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
        end="torch.save(model.state_dict(), 'model.pt')",
    )
    result = convert(source, FSDP)
    assert result.outcome is Outcome.CONVERTED, result.findings
    original, converted = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source)
    converted.write_text(result.text)
    report = auditor.audit(original, converted, world_sizes=(1, 2), tolerance=1e-5)
    assert report.passed, format_report(report)


def test_ranks_begin_with_the_weights_of_rank_0(launcher: Launcher, tmp_path: Path) -> None:
    source = script(end="torch.save(model.state_dict(), 'model.pt')")
    text = convert(source, FSDP).text.replace(
        "torch.manual_seed(0)", "torch.manual_seed(get_rank())"
    )
    text = text.replace("lr=0.01", "lr=0.0")
    run(launcher, tmp_path, text, 2)
    saved = torch.load(tmp_path / "model.pt", weights_only=True)
    torch.manual_seed(0)
    _ = [torch.randn(48, width, dtype=torch.float64) for width in (3, 1)]
    expected = torch.nn.Linear(3, 8, dtype=torch.float64)
    torch.testing.assert_close(saved["first.weight"], expected.weight.detach())


@pytest.mark.parametrize("tied", ["block", "weight"])
def test_shared_parameters_stay_together(auditor: Auditor, tmp_path: Path, tied: str) -> None:
    second = "block" if tied == "block" else "nn.Sequential(nn.Linear(8, 8))"
    layers = (
        "block = nn.Sequential(nn.Linear(8, 8))\n"
        f"        self.blocks = nn.ModuleList([block, {second}])"
    )
    if tied == "weight":
        layers += "\n        self.blocks[1][0].weight = block[0].weight"
    source = script(layers=layers, end="torch.save(model.state_dict(), 'model.pt')").replace(
        "self.last(torch.relu(self.first(x)))",
        "self.last(self.blocks[1](self.blocks[0](torch.relu(self.first(x)))))",
    )
    result = convert(source, FSDP)
    assert result.outcome is Outcome.CONVERTED, result.findings
    original, converted = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source)
    converted.write_text(result.text)
    report = auditor.audit(original, converted, world_sizes=(2,), tolerance=1e-6)
    assert report.passed, format_report(report)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"layers": "self.norm = nn.BatchNorm1d(8)"}, "batch norm"),
        (
            {
                "layers": "self.register_buffer('seen', torch.zeros(3))",
                "forward": "self.seen += x.detach().sum(0)",
            },
            "changes with the batches",
        ),
        (
            {
                "layers": "self.register_buffer('seen', torch.zeros(3))",
                "forward": "self.seen.add_(x.detach().sum(0))",
            },
            "changes with the batches",
        ),
        ({"optimizer": "torch.optim.LBFGS(model.parameters())"}, "each element by itself"),
        (
            {"model": f"optimizer = {ADAM}\nmodel = model.to('cpu')", "optimizer": "optimizer"},
            "made before the model is ready",
        ),
        ({"batch": "norms = [p.grad.norm() for p in model.parameters()]"}, "gradients are looked"),
        ({"batch": "total = sum(p.abs().sum() for p in model.parameters())"}, "one by one"),
        (
            {"model": f"optimizer = {ADAM}\nmodel.to('cpu')", "optimizer": "optimizer"},
            "made before the model is ready",
        ),
        (
            {"model": "params = list(model.parameters())", "optimizer": "torch.optim.SGD(params)"},
            "kept from before",
        ),
        ({"batch": "print(model.last.weight)"}, "a parameter is looked at"),
        ({"end": "print(model.features(x))"}, "other than by calling it"),
        ({"end": "print(model.first(x))"}, "other than by calling it"),
        ({"end": "torch.save(model, 'model.pt')"}, "is given a model that is sharded"),
        ({"ready": "best = copy.deepcopy(model)"}, "is given a model that is sharded"),
        (
            {"end": "best = copy.deepcopy(model.state_dict())\nmodel.load_state_dict(best)"},
            "of which rank 0 alone has the whole",
        ),
        (
            {
                "end": "best = {k: v.clone() for k, v in model.state_dict().items()}\n"
                "model.load_state_dict(best)"
            },
            "of which rank 0 alone has the whole",
        ),
        ({"ready": "model = torch.compile(model)"}, "torch.compile"),
        ({"ready": "scaler = torch.amp.GradScaler()"}, "GradScaler"),
        (
            {"end": "other = Net()\nother.load_state_dict(model.state_dict())"},
            "of which rank 0 alone has the whole",
        ),
        (
            {
                "model": "second = nn.Linear(1, 1)",
                "ready": "more = torch.optim.SGD(second.parameters(), lr=0.1)",
                "batch": "more.step()",
            },
            "several models learn",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_sharded_is_refused(parts: dict[str, str], reason: str) -> None:
    source = script(**parts)
    if "second" in source:
        source = source.replace("(model(x), y)", "(second(model(x)), y)")
    result = convert(source, FSDP)
    assert result.outcome is Outcome.REFUSED
    assert any(reason in message for message in refusals(source)), result.findings


def test_batch_norm_that_cannot_be_seen_stops_the_run(launcher: Launcher, tmp_path: Path) -> None:
    source = script(layers="self.norm = vars(nn)['BatchNorm1d'](8)")
    text = convert(source, FSDP).text
    assert "shard_model(model)" in text
    with pytest.raises(AssertionError, match="a model with batch norm cannot be sharded"):
        run(launcher, tmp_path, text, 2)


def test_nothing_is_refused_without_a_reason() -> None:
    source = script(
        layers="self.register_buffer('scale', torch.ones(3))",
        forward="x = x * self.scale",
        model="for p in model.first.parameters():\n    p.requires_grad = False",
        batch="nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        end="print(sum(p.numel() for p in model.parameters()))",
    )
    assert convert(source, FSDP).outcome is Outcome.CONVERTED


def test_gathering_stands_outside_of_what_rank_0_does() -> None:
    source = script(end="if loss.item() < 9:\n    torch.save(model.state_dict(), 'model.pt')")
    text = convert(source, FSDP).text
    gathered = text.index("gathered(model.state_dict())")
    assert gathered < text.index("torch.save(")
    assert text.rindex("if is_main_process():", 0, text.index("torch.save(")) > gathered


def test_a_model_is_called_by_all_processes_for_what_one_writes() -> None:
    source = script(end="with torch.no_grad():\n    y = model(x)\n    torch.save(y, 'y.pt')")
    result = convert(source, FSDP)
    assert result.outcome is Outcome.CONVERTED
    lines = [line.strip() for line in result.text.splitlines()]
    assert lines.index("y = model(x)") < lines.index("torch.save(y, 'y.pt')")
    guard = len(lines) - 1 - lines[::-1].index("if is_main_process():")
    assert guard > lines.index("y = model(x)")


@pytest.mark.parametrize("other", [{"compression": "fp16"}, {"evaluation": "shard"}])
def test_what_shards_cannot_do_is_said(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="strategy='ddp'"):
        Options(strategy="fsdp", **other)
