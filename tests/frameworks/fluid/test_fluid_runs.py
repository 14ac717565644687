"""Converted Fluid scripts train with real parameter servers what one process trains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Case, cases
from fluid_cluster import Cluster, Ended

from transpile import Options, convert

CONVERTED = [case for case in cases("fluid") if case.expect == "converted"]
BY_NAME = {case.folder.name: case for case in CONVERTED}


def parameters(ended: Ended) -> dict[str, np.ndarray[Any, Any]]:
    """What a process ended with, by name."""
    assert ended.status == 0, ended.errors[-8000:] + ended.output[-500:]
    with np.load(ended.parameters) as found:
        return {name: found[name] for name in found.files}


def assert_same(
    first: dict[str, np.ndarray[Any, Any]], second: dict[str, np.ndarray[Any, Any]]
) -> None:
    assert first and sorted(first) == sorted(second)
    for name, values in first.items():
        np.testing.assert_allclose(second[name], values, atol=1e-4, rtol=1e-4, err_msg=name)


def prepared(case: Case, work: Path, **options: object) -> Path:
    """A folder with a case's script and what is made of it."""
    folder = work / "source"
    folder.mkdir()
    for path in case.folder.glob("*.py"):
        (folder / path.name).write_bytes(path.read_bytes())
    result = convert(
        case.script.read_bytes(),
        Options(**options),  # type: ignore[arg-type]
        path="train.py",
        folder=case.folder,
    )
    assert result.outcome.value == "converted", result.findings
    (folder / "train_dist.py").write_bytes(result.data)
    for module in result.changed_modules:
        (folder / module.place).write_bytes(module.data)
    return folder


def original(case: Case, work: Path) -> Path:
    """A folder with a case's script and its modules as they were."""
    folder = work / "original"
    folder.mkdir()
    for path in case.folder.glob("*.py"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.folder.name)
def test_trains_with_two_trainers(
    case: Case, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    python = interpreter_of("fluid")
    one = Cluster(python, original(case, tmp_path), tmp_path).alone("train.py", case.arguments)
    before = parameters(one)
    cluster = Cluster(python, prepared(case, tmp_path), tmp_path)
    alone = cluster.alone("train_dist.py", case.arguments)
    if case.deterministic:
        assert_same(before, parameters(alone))
        assert alone.output == one.output
    first, second = cluster.together("train_dist.py", case.arguments, servers=2)
    assert_same(parameters(first), parameters(second))
    if case.deterministic:
        assert_same(before, parameters(first))
    assert len(first.output.splitlines()) == len(one.output.splitlines())
    assert not second.output
    assert not written(second), "trainer 1 writes files"
    # Of a distributed program the state of the optimizer is saved with the parameters.
    assert set(written(one)) <= set(written(first))


def written(ended: Ended) -> list[str]:
    """The files that a process has written, but for those of the test."""
    own = {"output", "errors", "parameters.npz", "train_dist.py"}
    return sorted(
        str(path.relative_to(ended.folder))
        for path in ended.folder.rglob("*")
        if path.is_file()
        and not path.name.startswith("learning_rate")  # held by the servers
        and path.suffix not in (".py", ".pyc")
        and path.name not in own
    )


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"slice_var_up": False},
        {"split_method": "HashName"},
        {"batch_size": "per-device"},
    ],
    ids=str,
)
def test_every_choice_trains(
    options: dict[str, object],
    servers: int,
    interpreter_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    case = BY_NAME["linear_regression"]
    cluster = Cluster(interpreter_of("fluid"), prepared(case, tmp_path, **options), tmp_path)
    ends = cluster.together("train_dist.py", case.arguments, servers=servers)
    assert_same(*map(parameters, ends))
    if "batch_size" in options:
        one = cluster.alone("train.py", ("--batch_size", "32"))
    else:
        one = cluster.alone("train.py", case.arguments)
    assert_same(parameters(one), parameters(ends[0]))


@pytest.mark.parametrize(
    ("servers", "whole", "said"),
    [(1, False, "start 2 servers or more, not 1"), (2, True, "can train d.b1, which several do")],
)
def test_programs_without_servers_of_their_own_stop(
    servers: int,
    whole: bool,
    said: str,
    interpreter_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    # Servers of one program do not see what those of another make of a parameter.
    folder = prepared(BY_NAME["two_programs"], tmp_path)
    script = folder / "train_dist.py"
    text = script.read_text("utf-8")
    if whole:
        assert ', parameter_list=["g.w", "g.b"]' in text
        script.write_text(text.replace(', parameter_list=["g.w", "g.b"]', ""), "utf-8")
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    for ended in cluster.together("train_dist.py", servers=servers):
        assert ended.status == 1
        assert said in ended.errors


def test_a_single_trainer_trains_alone(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    # Synchronous servers of Fluid 1.8.5 crash with one trainer, which would wait for ever.
    case = BY_NAME["resumed_training"]
    cluster = Cluster(interpreter_of("fluid"), prepared(case, tmp_path), tmp_path)
    one = cluster.alone("train.py", case.arguments)
    (first,) = cluster.together("train_dist.py", case.arguments, trainers=1)
    assert_same(parameters(one), parameters(first))
    assert first.output == one.output


@pytest.mark.parametrize(("servers", "sliced"), [(1, True), (2, True), (2, False)])
def test_asynchronous_updates_train(
    servers: int, sliced: bool, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    case = BY_NAME["own_programs"]
    folder = prepared(case, tmp_path, async_mode=True, slice_var_up=sliced)
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    for ended in cluster.together("train_dist.py", case.arguments, servers=servers):
        moved = parameters(ended)["fc_0.w_0"] - 0.02
        assert np.isfinite(moved).all()
        assert np.abs(moved).max() > 1e-3


def test_a_batch_that_cannot_be_shared_stops_the_script(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    case = BY_NAME["linear_regression"]
    cluster = Cluster(interpreter_of("fluid"), prepared(case, tmp_path), tmp_path)
    for ended in cluster.together("train_dist.py", ("--batch_size", "15")):
        assert ended.status == 1
        assert (
            "batch size 15 is not divisible by 2 trainers: the nearest that is: 16" in ended.errors
        )


LOADED = """\
import numpy as np
import paddle.fluid as fluid

x = fluid.layers.data("x", [4])
loss = fluid.layers.mean(fluid.layers.square(fluid.layers.fc(x, 1)))
fluid.optimizer.SGD(0.01).minimize(loss)
loader = fluid.io.DataLoader.from_generator(feed_list=[x], capacity=4, iterable=True)


def batches():
    for _ in range(3):
        yield [np.ones((5, 4), "float32")]


loader.set_batch_generator(batches, places=fluid.cpu_places(1))
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
for feed in loader:
    exe.run(feed=feed, fetch_list=[loss])
"""


def test_a_batch_in_the_thread_of_a_loader_stops_the_script(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    result = convert(LOADED.encode(), Options(), path="train.py")
    assert result.outcome.value == "converted", result.findings
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train_dist.py").write_bytes(result.data)
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    for ended in cluster.together("train_dist.py", ()):
        assert ended.status != 0
        assert "batch size 5 is not divisible by 2 trainers" in ended.errors


@pytest.mark.parametrize("servers", [1, 2])
def test_table_on_the_servers_trains(
    servers: int, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    case = BY_NAME["large_embedding"]
    folder = prepared(case, tmp_path, distributed_embedding=True)
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    one = parameters(cluster.alone("train.py"))
    table = one.pop("table")
    first, second = cluster.together("train_dist.py", servers=servers)
    for ended in (first, second):
        assert_same(one, parameters(ended))
    assert table.nbytes < sum(path.stat().st_size for path in (first.folder / "words").iterdir())
