"""How scripts are run: what they find, what they leave, what the command says."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from transpile import convert
from transpile.verify import Auditor, LaunchError, audit, format_report
from transpile.verify.__main__ import main
from transpile.verify.launcher import Launcher

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "train.py") -> Path:
        path = tmp_path / "project" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie whose parent is gone waits for the init process: it runs no more.
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self/stat").exists()
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_a_script_finds_what_a_plain_start_gives_it(
    script: Callable[..., Path], auditor: Auditor, tmp_path: Path
) -> None:
    seed = tmp_path / "seed"
    (seed / "data").mkdir(parents=True)
    (seed / "data" / "numbers.txt").write_text("1 2 3")
    (seed / "examples").mkdir()
    path = script("""
        import os, sys
        import helper
        from transpile import own
        assert __name__ == "__main__" and sys.modules["__main__"].helper is helper
        assert sys.argv == [__file__, "--epochs", "3"], sys.argv
        assert sys.path[0] == os.path.dirname(__file__)
        assert "" not in sys.path
        assert not {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"} & set(os.environ)
        assert open("../data/numbers.txt").read() == "1 2 3"
        assert sorted(os.listdir()) == []
        assert not sys.stdin.read()
        assert os.popen("stty size", "r").read().split() == ["24", "80"]
        try:
            input()
        except EOFError:
            pass
        open("left.txt", "w").close()
        try:
            import rules
        except ImportError:
            print(own, os.environ["OMP_NUM_THREADS"])
        """)
    script("", "helper.py")
    script("own = 'the module of the project'", "transpile.py")
    report = auditor.audit(
        path,
        path,
        world_sizes=(1,),
        arguments=("--epochs", "3"),
        workdir_seed=seed,
        start_folder="examples",
    )
    assert report.passed, format_report(report)
    detail = report.run(1).check("single process equals original").detail
    assert detail == "the same lines; the original trains nothing"
    assert not (path.parent / "__pycache__").exists()


def test_ranks_get_what_torchrun_gives(script: Callable[..., Path], auditor: Auditor) -> None:
    path = script("""
        import os
        rank = int(os.environ.get("RANK", 0))
        if "RANK" in os.environ:
            assert os.environ["LOCAL_RANK"] == os.environ["RANK"]
            assert os.environ["WORLD_SIZE"] == os.environ["LOCAL_WORLD_SIZE"] == "3"
            assert int(os.environ["MASTER_PORT"]) > 0
        import torch
        print(f"rank seed {torch.initial_seed()}" if rank == 0 else "", end="")
        """)
    report = auditor.audit(path, path, world_sizes=(3,))
    assert report.passed, format_report(report)


def test_ranks_differ_in_what_the_script_does_not_seed(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    path = script("""
        import os, random, torch
        from torch import nn
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=random.random())
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        """)
    report = auditor.audit(path, path, world_sizes=(1, 2))
    assert report.run(1).passed
    assert {"parameters equal on all ranks", "learning rates"} <= set(report.failed_names)


def test_chance_that_no_seed_governs_is_not_held_against_a_script(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    path = script("""
        import os, torch
        weight = torch.nn.Parameter(torch.tensor([float(os.urandom(4).hex().encode().hex()[:6])]))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        weight.sum().backward()
        optimizer.step()
        """)
    report = auditor.audit(path, path, world_sizes=(1,))
    check = report.run(1).check("single process equals original")
    assert report.passed
    assert "two runs of the original differ as well" in check.detail


SPLIT_BY_CHANCE = """
    import torch
    from torch.utils.data import DataLoader, Subset, TensorDataset
    data = TensorDataset(torch.randn(64, 2))
    generator = torch.Generator()
    generator.seed()
    order = torch.randperm(64, generator=generator).tolist()
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in DataLoader(Subset(data, order[:32]), batch_size=8):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    """


def test_a_part_of_the_data_by_chance_is_not_held_against_several_processes(
    script: Callable[..., Path], auditor: Auditor, tmp_path: Path
) -> None:
    path = script(SPLIT_BY_CHANCE)
    output = tmp_path / "output.py"
    output.write_text(convert(path.read_text(), path="train.py").text)
    report = auditor.audit(path, output, world_sizes=(2,))
    check = report.run(2).check("training shards complete")
    assert report.passed, report.failed_names
    assert "two runs of the original differ as well" in check.detail


def test_what_is_left_out_is_held_against_them_where_no_chance_is(
    script: Callable[..., Path], auditor: Auditor, tmp_path: Path
) -> None:
    path = script(SPLIT_BY_CHANCE.replace("generator.seed()", "generator.manual_seed(1)"))
    output = tmp_path / "output.py"
    text = convert(path.read_text(), path="train.py").text
    output.write_text(text.replace("order[:32]", "order[:30]"))
    report = auditor.audit(path, output, world_sizes=(2,))
    assert "training shards complete" in report.failed_names


def test_an_original_that_fails_ends_the_audit(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    path = script("import sys\nsys.exit('no data')")
    report = auditor.audit(path, SCRIPTS / "shuffled_distributed.py")
    assert [run.label for run in report.runs] == ["original"]
    assert report.failed_names == ("exit status",)
    assert "no data" in report.run(0).check("exit status").detail


def test_an_exit_without_ceremony_leaves_its_evidence(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    text = (SCRIPTS / "deterministic.py").read_text() + "\nimport os\nos._exit({})\n"
    path = script(text.format(0))
    report = auditor.audit(path, path, world_sizes=(1,))
    assert report.run(1).check("single process equals original").detail == "bit for bit"
    report = auditor.audit(script(text.format(3)), path, world_sizes=())
    assert report.failed_names == ("exit status",)


def test_nothing_that_a_script_started_is_left(
    script: Callable[..., Path], auditor: Auditor, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    path = script(f"""
        import subprocess
        child = subprocess.Popen(["sleep", "600"])
        open({str(note)!r}, "w").write(str(child.pid))
        """)
    assert auditor.audit(path, path, world_sizes=()).passed
    assert wait_until(lambda: not alive(int(note.read_text())), 60)


def test_no_rank_survives_the_audit(script: Callable[..., Path], tmp_path: Path) -> None:
    note = tmp_path / "pid"
    path = script(f"""
        import os, time
        open({str(note)!r}, "w").write(str(os.getpid()))
        time.sleep(600)
        """)
    command = [sys.executable, "-m", "transpile.verify", str(path), str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, cwd=tmp_path)
    try:
        assert wait_until(lambda: note.exists() and note.read_text() != "", 60)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        assert wait_until(lambda: not alive(int(note.read_text())), 60)
    finally:
        process.kill()
        process.wait(timeout=60)


def test_streams_are_told_apart_by_their_samples(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    text = """
        import os, torch
        import torch.distributed as dist
        from torch import nn
        from torch.utils.data import DataLoader, IterableDataset

        rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        if world_size > 1:
            dist.init_process_group("gloo")

        class Stream(IterableDataset):
            def __iter__(self):
                for number in range({first}, 24, {step}):
                    yield torch.tensor([float(number)]), number

        torch.manual_seed(0)
        model = nn.Linear(1, 1)
        if world_size > 1:
            model = nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
        for value, _ in DataLoader(Stream(), batch_size=6 // world_size):
            optimizer.zero_grad()
            model(value).mean().backward()
            optimizer.step()
        if world_size > 1:
            dist.barrier()
            dist.destroy_process_group()
        """
    original = script(text.format(first=0, step=1))
    good = script(text.format(first="rank", step="world_size"), "good.py")
    report = auditor.audit(original, good, tolerance=1e-5, world_sizes=(1, 2, 3))
    assert report.passed, format_report(report)
    report = auditor.audit(original, original, world_sizes=(2,))
    assert set(report.failed_names) == {"training shards disjoint", "optimizer steps"}


def test_batches_made_by_hand_are_told_apart_by_the_model_input(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    text = """
        import os, torch
        import torch.distributed as dist
        from torch import nn

        rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        if world_size > 1:
            dist.init_process_group("gloo")
        torch.manual_seed(0)
        values = torch.randn(24, 2)
        model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        if world_size > 1:
            model = nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
        for start in range(0, 24, 6):
            optimizer.zero_grad()
            model(values[{batch}]).mean().backward()
            optimizer.step()
        if world_size > 1:
            dist.barrier()
            dist.destroy_process_group()
        """
    original = script(text.format(batch="start:start + 6"))
    good = script(text.format(batch="start + rank:start + 6:world_size"), "good.py")
    report = auditor.audit(original, good, tolerance=1e-5, world_sizes=(1, 2, 3))
    assert report.passed, format_report(report)
    assert report.run(2).check("global batch").passed
    report = auditor.audit(original, original, world_sizes=(2,))
    assert report.failed_names == ("training shards disjoint", "global batch")


def test_parameters_that_no_optimizer_updates_are_compared(
    script: Callable[..., Path], auditor: Auditor
) -> None:
    text = """
        import os, torch
        import torch.distributed as dist
        from torch import nn
        from torch.utils.data import DataLoader
        from torch.utils.data.distributed import DistributedSampler

        def main():
            rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
            if world_size > 1:
                dist.init_process_group("gloo")
            torch.manual_seed(0)
            values = [torch.tensor([float(number)]) for number in range(12)]
            sampler = DistributedSampler(values, world_size, rank, shuffle=False)
            model = nn.Linear(1, 1)
            for value in DataLoader(values, batch_size=4 // world_size, sampler=sampler):
                model(value).mean().backward()
                with torch.no_grad():
                    for parameter in model.parameters():
                        if {reduced} and world_size > 1:
                            dist.all_reduce(parameter.grad)
                        parameter -= 0.01 * parameter.grad / world_size
                model.zero_grad()
            if world_size > 1:
                dist.barrier()
                dist.destroy_process_group()

        main()
        """
    good, bad = script(text.format(reduced=True), "good.py"), script(text.format(reduced=False))
    report = auditor.audit(good, good, tolerance=1e-5, world_sizes=(1, 2))
    assert report.passed, format_report(report)
    assert report.run(2).check("equivalence").passed
    report = auditor.audit(good, bad, world_sizes=(2,))
    assert report.failed_names == ("parameters equal on all ranks",)


def test_per_device_batches_are_judged_as_such(auditor: Auditor, tmp_path: Path) -> None:
    text = (SCRIPTS / "shuffled_distributed.py").read_text()
    converted = tmp_path / "per_device.py"
    converted.write_text(text.replace("BATCH_SIZE // world_size", "BATCH_SIZE"))
    original = SCRIPTS / "shuffled.py"
    report = auditor.audit(original, converted, batch_size="per-device")
    assert report.passed, format_report(report)
    global_batch = SCRIPTS / "shuffled_distributed.py"
    report = auditor.audit(original, global_batch, batch_size="per-device")
    assert report.failed_names == ("global batch",)


def test_wrong_arguments_are_refused(auditor: Auditor, tmp_path: Path) -> None:
    path = SCRIPTS / "deterministic.py"
    with pytest.raises(ValueError, match="world size"):
        auditor.audit(path, path, world_sizes=(0,))
    with pytest.raises(FileNotFoundError):
        auditor.audit(path, tmp_path / "none.py")
    with pytest.raises(FileNotFoundError, match="examples"):
        auditor.audit(path, path, workdir_seed=tmp_path, start_folder="examples")


def test_an_interpreter_without_the_framework_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
    path = SCRIPTS / "deterministic.py"
    with pytest.raises(LaunchError, match="No module named 'torch'"):
        audit(path, path, python=str(bare))
    with pytest.raises(LaunchError, match="closed"):
        Launcher().run(
            path,
            (),
            world_size=1,
            working_directory=tmp_path,
            evidence=tmp_path / "evidence",
            folders={},
            timeout_seconds=1,
        )


def test_the_command_prints_a_table(
    capsys: pytest.CaptureFixture[str], script: Callable[..., Path]
) -> None:
    original, converted = SCRIPTS / "deterministic.py", SCRIPTS / "deterministic_distributed.py"
    assert main([str(original), str(converted), "--world-sizes", "2", "--equivalence"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("original (")
    assert "  ok    parameters equal on all ranks" in shown
    assert shown.endswith("\npassed\n")
    picky = script("import sys\nassert sys.argv[1:] == ['-x', '--', 'y'], sys.argv")
    assert main([str(picky), str(picky), "--world-sizes", "1", "--", "-x", "--", "y"]) == 0
    assert main([str(picky), str(picky)]) == 1
    assert capsys.readouterr().out.endswith("\nfailed: exit status\n")
    assert main([str(picky), "missing.py"]) == 2
    assert "missing.py" in capsys.readouterr().err


@pytest.mark.slow
def test_modules_of_packages_find_each_other(auditor: Auditor, tmp_path: Path) -> None:
    package = tmp_path / "lab" / "nets"
    package.mkdir(parents=True)
    (tmp_path / "lab" / "__init__.py").write_text("RATE = 0.5\n")
    (package / "shapes.py").write_text("WIDTH = 3\n")
    text = """
        import sys
        from lab import RATE
        from .shapes import WIDTH
        assert __name__ == "__main__" and __spec__.name == "lab.nets.train", __spec__
        assert sys.argv == [__file__, "--epochs"], sys.argv
        print("width", WIDTH, "rate", RATE)
    """
    script = package / "train.py"
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    report = auditor.audit(script, script, world_sizes=(1,), arguments=["--epochs"], packages=2)
    assert report.passed, report
    assert report.seen[0].first.output == "width 3 rate 0.5\n"
    assert not auditor.audit(script, script, world_sizes=(1,)).passed


@pytest.mark.slow
def test_what_trackers_are_given_is_seen(script: Callable[..., Path], auditor: Auditor) -> None:
    script(
        "class SummaryWriter:\n    def add_scalar(self, tag, value, step): ...\n", "tensorboardX.py"
    )
    script("def log(data, step=None): ...\n", "wandb.py")
    path = script("""
        import torch
        import wandb
        from tensorboardX import SummaryWriter
        SummaryWriter().add_scalar("loss", torch.tensor(0.5), 1)
        wandb.log({"accuracy": 0.25, "note": "good"}, step=1)
    """)
    report = auditor.audit(path, path, world_sizes=(1,))
    assert report.passed, report
    assert report.seen[0].first.tracked == (("loss", 0.5), ("accuracy", 0.25))
