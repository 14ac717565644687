"""What is distributed already is never converted again, with its modules or without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cases import Case, cases

from transpile import Outcome, Result, convert

LOOP = """
loader = DataLoader(data, batch_size=8{sampler})
model = nn.Linear(8, 2)
{wrap}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for features, labels in loader:
        loss = nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
HEAD = """import os
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
{imports}
data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
"""


def script(imports: str, wrap: str = "", sampler: str = "") -> str:
    return HEAD.format(imports=imports) + LOOP.format(wrap=wrap, sampler=sampler)


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


UNREAD = {
    "the wrap": script(
        "from torch.nn.parallel import DistributedDataParallel as DDP\n"
        "from mylab.dist import init_distributed_mode\n"
        "init_distributed_mode()",
        "model = DDP(model)",
    ),
    "the sampler of a number of processes": script(
        "from torch.utils.data import DistributedSampler\nfrom mylab.dist import world_size",
        sampler=", sampler=DistributedSampler(data) if world_size() > 1 else None",
    ),
    "the launcher's variables": script(
        "from mylab.launch import setup\n"
        "local_rank = int(os.environ['LOCAL_RANK'])\n"
        "setup(local_rank)",
    ),
    "a start, and a wrap that a library makes": script(
        "import torch.distributed as dist\n"
        "from mylab.parallel import wrap_model\n"
        "dist.init_process_group('nccl')",
        "model = wrap_model(model)",
    ),
}


@pytest.mark.parametrize("text", UNREAD.values(), ids=UNREAD)
def test_a_start_that_cannot_be_read_is_refused_by_name(text: str) -> None:
    result = convert(text)
    assert result.outcome is Outcome.REFUSED
    (finding,) = result.findings
    assert finding.code == "DT017"
    assert "`mylab." in finding.message


ENGINES = {
    "Horovod": "import horovod.torch as hvd\nhvd.init()",
    "Fabric": "from lightning.fabric import Fabric\nfabric = Fabric()",
    "an older Fabric": "from lightning_fabric import Fabric\nfabric = Fabric()",
    "Ignite": "import ignite.distributed as idist\nidist.initialize('nccl')",
    "ColossalAI": "import colossalai\ncolossalai.launch_from_torch({})",
    "DeepSpeed": "import deepspeed\ndeepspeed.init_distributed()",
}


@pytest.mark.parametrize("imports", ENGINES.values(), ids=ENGINES)
def test_engines_are_left_as_they_are(imports: str) -> None:
    result = convert(script(imports))
    assert codes(result) == {"DT003"}
    assert result.outcome is Outcome.UNCHANGED


def test_an_engine_counts_before_the_project_s_folders(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "horovod/torch").mkdir(parents=True)
    (tmp_path / "horovod/__init__.py").write_text("")
    (tmp_path / "horovod/torch/__init__.py").write_text("def init():\n    pass\n")
    (tmp_path / "examples").mkdir()
    path = tmp_path / "examples/train.py"
    path.write_text(script(ENGINES["Horovod"]))
    assert codes(convert(path.read_bytes(), path=str(path))) == {"DT003"}


AVERAGED = script(
    "import torch.distributed as dist\ndist.init_process_group('gloo')",
).replace(
    "        optimizer.step()",
    "        for p in model.parameters():\n"
    "            dist.reduce(p.grad, 0)\n"
    "            dist.broadcast(p.grad, 0)\n"
    "        optimizer.step()",
)


def test_gradients_that_are_exchanged_by_hand_are_left() -> None:
    assert codes(convert(AVERAGED)) == {"DT003"}


NOT_YET = {
    "an import alone": "from torch.nn.parallel import DistributedDataParallel\nimport mylab.dist",
    "helpers that ask": (
        "import torch.distributed as dist\n\n\n"
        "def rank():\n    return dist.get_rank() if dist.is_initialized() else 0\n\n\n"
        "print(rank())"
    ),
    "a set-up that nothing calls": (
        "import torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel\n\n\n"
        "def set_up(model):\n    dist.init_process_group('nccl')\n"
        "    return DistributedDataParallel(model)\n"
    ),
    "a test of the kind of a model": (
        "from torch.nn.parallel import DistributedDataParallel\n\n\n"
        "def plain(model):\n"
        "    return model.module if isinstance(model, DistributedDataParallel) else model\n\n\n"
        "print(plain)"
    ),
    "a library that seeds": "import pytorch_lightning as pl\npl.seed_everything(1)",
}


@pytest.mark.parametrize("imports", NOT_YET.values(), ids=NOT_YET)
def test_what_only_looks_so_is_converted(imports: str) -> None:
    assert convert(script(imports)).outcome is Outcome.CONVERTED


PROJECTS = [case for case in cases() if list(case.project_output.rglob("distributed_utils.py"))]


@pytest.mark.parametrize("case", PROJECTS, ids=lambda case: case.name)
def test_an_output_without_its_helpers_is_not_converted_again(case: Case, tmp_path: Path) -> None:
    shutil.copytree(case.project_output, tmp_path / "out")
    for helpers in (tmp_path / "out").rglob("distributed_utils.py"):
        helpers.unlink()
    path = tmp_path / "out" / case.place
    again = convert(path.read_bytes(), path=str(path))
    assert again.outcome is Outcome.REFUSED
    assert codes(again) == {"DT017"}
    assert "distributed_utils" in again.findings[0].message


def test_training_in_a_module_that_is_missing_is_named() -> None:
    text = "import torch\nfrom engine import train\n\ntrain('configs/small.yaml')\n"
    (finding,) = convert(text).findings
    assert finding.code == "DT004"
    assert "`engine`" in finding.message and "not found" in finding.message


def test_a_plainly_distributed_script_is_never_too_complex() -> None:
    calls = "".join(
        f"\n\ndef f{n}(x):\n    return f{n + 1}(x) + f{n + 1}(x + 1)" for n in range(24)
    )
    text = script(
        "import torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel\n"
        "dist.init_process_group('nccl')" + calls + "\n\n\ndef f24(x):\n    return x\n\n\nf0(1)",
        "model = DistributedDataParallel(model)",
    )
    assert codes(convert(text)) == {"DT003"}
