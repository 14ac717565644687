"""Scripts that leave Horovod train what they trained, against a stand-in for it over Gloo."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from ranks import run_ranks

import transpile
from transpile import Outcome

HERE = Path(__file__).parent
SCRIPTS = ("metrics", "accumulated", "options")
LEAVE = transpile.Options(leave="horovod")
SCRIPT = (HERE / "scripts/metrics.py").read_text()


def left(text: str) -> transpile.Result:
    return transpile.convert(text, LEAVE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_without_being_asked_it_is_left_alone(name: str) -> None:
    text = (HERE / f"scripts/{name}.py").read_text()
    result = transpile.convert(text)
    assert result.outcome is Outcome.UNCHANGED
    assert [one.code for one in result.findings] == ["DT003"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_of_horovod_is_left_and_nothing_is_left_to_do(name: str) -> None:
    result = left((HERE / f"scripts/{name}.py").read_text())
    assert (result.outcome, result.findings) == (Outcome.CONVERTED, ())
    assert "import horovod" not in result.text and "hvd" not in result.text
    assert "model = DistributedDataParallel(" in result.text
    again = left(result.text)
    assert (again.outcome, again.text) == (Outcome.UNCHANGED, result.text)


def test_batch_norm_keeps_the_statistics_of_its_process() -> None:
    text = left((HERE / "scripts/accumulated.py").read_text()).text
    assert "DistributedDataParallel(model, broadcast_buffers=False)" in text
    assert "SyncBatchNorm" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "world_size"), [("metrics", 1), ("metrics", 2), ("accumulated", 1), ("accumulated", 3),
     ("options", 1), ("options", 2)],
)  # fmt: skip
def test_it_trains_the_same(name: str, world_size: int, tmp_path: Path) -> None:
    with_it, without = tmp_path / "with", tmp_path / "without"
    for folder in (with_it, without):
        folder.mkdir()
    shutil.copy(HERE / f"scripts/{name}.py", with_it / "train.py")
    (without / "train.py").write_text(left((with_it / "train.py").read_text()).text)
    expected = run_ranks(with_it / "train.py", world_size, PYTHONPATH=str(HERE / "stand_in"))
    found = run_ranks(without / "train.py", world_size, PYTHONPATH="")
    assert {each.status for each in (*expected, *found)} == {0}, [*expected, *found]
    assert [each.output for each in found] == [each.output for each in expected]
    states = [torch.load(folder / "model.pt") for folder in (with_it, without)]
    assert states[0].keys() == states[1].keys()
    for key, value in states[0].items():
        torch.testing.assert_close(states[1][key], value, rtol=1e-5, atol=1e-7)


OPTIONS = (HERE / "scripts/options.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--adasum"], "reducing gradients other than by their mean"),
        (["--fp16"], "compressing gradients"),
        (["--predivide", "2"], "dividing gradients before they are added up"),
        (["--processes", "2"], "start this script with torchrun"),
    ],
)
def test_an_option_without_a_counterpart_stops_the_output(
    words: list[str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(left(OPTIONS).text)
    done = subprocess.run(
        [sys.executable, "train.py", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1 and said in done.stderr, done.stderr
    assert not (tmp_path / "model.pt").exists()


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("    compression = hvd", "    compression = None\n    compression = hvd", "compressed"),
        ("    hvd.init()\n", "    hvd.init()\n    print(compression)\n", "compressed"),
        ("        horovod.run(", "        found = horovod.run(", "not imported as"),
        ("import horovod\n", "import horovod as h\n", "not imported as"),
        ("gradient_predivide_factor=args.predivide", "gradient_predivide_factor=2.0", "no counter"),
    ],
)
def test_a_choice_that_cannot_be_followed_is_refused(before: str, after: str, why: str) -> None:
    assert before in OPTIONS
    result = left(OPTIONS.replace(before, after))
    assert result.outcome is Outcome.REFUSED
    assert any(one.code == "PT122" and why in one.message for one in result.findings), [
        one.message for one in result.findings
    ]


OPTIMIZER = "optimizer, named_parameters=model.named_parameters(), op=hvd.Average\n"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("op=hvd.Average", "op=hvd.Adasum", "Adasum adds gradients up"),
        ("op=hvd.Average", "compression=hvd.Compression.fp16", "not be rounded as Horovod"),
        ("op=hvd.Average", "op=hvd.Adasum if args.lr else hvd.Sum", "Adasum"),
        ("op=hvd.Average", "op=hvd.Adasum if hvd.rank() else hvd.Average", "Adasum"),
        ("op=hvd.Average", "sparse_as_dense=True", "`sparse_as_dense=True` has no counterpart"),
        ("op=hvd.Average", "process_set=mine", "`process_set=mine` has no counterpart"),
        ("name=name", "op=hvd.Max", "`op=hvd.Max` has no counterpart"),
        ("import horovod.torch as hvd\n",
         "import horovod.torch as hvd\nimport horovod.torch.elastic\n", "not imported as"),
        ("hvd.init()", "hvd.init()\nhvd.elastic.run(train)", "elastic jobs go on"),
        ("hvd.init()", "hvd.init()\nsize = hvd.size\n", "handed on"),
        ("hvd.init()", "hvd.init()\nprint(hvd)\n", "used as a value"),
        ("hvd.init()", "hvd.init()\nhvd.alltoall(torch.ones(3))\n",
         "`alltoall` has no counterpart"),
        ("import horovod.torch as hvd", "from horovod.torch import init, rank", "one by one"),
        ("hvd.join()", "last = hvd.join()", "last process to arrive"),
        ("batch_size=8, sampler=train_sampler", "batch_size=8", "may end at different times"),
        ("batch_size=8, sampler=train_sampler",
         "batch_size=8, sampler=torch.utils.data.RandomSampler(data)",
         "may end at different times"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_refused(before: str, after: str, why: str) -> None:
    assert before in SCRIPT
    result = left(SCRIPT.replace(before, after))
    assert result.outcome is Outcome.REFUSED
    assert any(one.code == "PT122" and why in one.message for one in result.findings), [
        one.message for one in result.findings
    ]


def test_an_optimizer_of_its_own_is_refused() -> None:
    begin, end = SCRIPT.index("optimizer = hvd.Dist"), SCRIPT.index("for epoch in range(args")
    result = left(SCRIPT[:begin] + SCRIPT[end:])
    assert result.outcome is Outcome.REFUSED
    assert any("is not Horovod's" in one.message for one in result.findings)


def test_clipping_before_the_average_is_pointed_out() -> None:
    text = SCRIPT.replace(
        "        optimizer.step()",
        "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()",
    )
    assert [one.code for one in left(text).findings] == ["PT123"]


def test_other_scripts_are_converted_as_ever(command: Callable[..., Any]) -> None:
    plain = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "model = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "data = TensorDataset(torch.ones(8, 2), torch.ones(8, 1))\n"
        "for x, y in DataLoader(data, batch_size=4):\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.mse_loss(model(x), y).backward()\n    optimizer.step()\n"
    )
    assert left(plain).text == transpile.convert(plain).text
    Path("train.py").write_text(SCRIPT)
    assert command("train.py", "--leave", "horovod", "-o", "train_ddp.py").status == 0
    assert "hvd" not in Path("train_ddp.py").read_text()
    assert command("train.py", "--framework", "paddle", "--leave", "horovod").status == 2
