"""What a conversion may cost: calls that branch, and projects with much that is not run."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from transpile import Options, Outcome, SourceError, convert, engine
from transpile.cli.gate import Gate
from transpile.facts import interpreter, state
from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import walk_back
from transpile.plan.models import second_passes
from transpile.project import Project
from transpile.quantity.analysis import Supposing
from transpile.quantity.models import couplings
from transpile.quantity.sample_axis import joins

LOOP = """\
model = torch.nn.Linear(3, 1)
loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), 8, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(g0(x)), y).backward()
    optimizer.step()
"""
HEAD = "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n\n"


def chain(depth: int, body: str) -> str:
    """Functions that each call the next one twice."""
    functions = "".join(
        f"def g{number}(x):\n    return {body.format(next=f'g{number + 1}')}\n\n\n"
        for number in range(depth)
    )
    return f"{HEAD}{functions}def g{depth}(x):\n    return x * 2\n\n\n{LOOP}"


def test_calls_with_the_same_arguments_are_followed_once() -> None:
    started = time.process_time()
    result = convert(chain(30, "{next}(x) + {next}(x)"))
    assert result.outcome is Outcome.CONVERTED
    assert time.process_time() - started < 5


def test_lists_that_calls_make_are_not_one() -> None:
    script = f"""{HEAD}def g0(x):
    return x


def empty():
    return []


sizes = empty()
names = empty()
names.append("a")
for size in sizes:
    print(size)
{LOOP}"""
    result = convert(script)
    assert result.outcome is Outcome.CONVERTED


def test_what_is_too_much_is_refused_with_its_place() -> None:
    started = time.process_time()
    result = convert(chain(30, "torch.relu({next}(x)) + torch.tanh({next}(x))"))
    assert time.process_time() - started < 10
    (finding,) = result.findings
    assert (result.outcome, finding.code) == (Outcome.REFUSED, "DT001")
    assert finding.line > 5
    assert "was followed" in finding.message


MANY = "".join(f"def unused{number}(x):\n    return torch.relu(x)\n\n\n" for number in range(100))


def test_a_file_that_does_not_train_is_not_followed_beyond_its_own_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library.py").write_text(f"{HEAD}{MANY}")
    script = "import torch\nimport library\n\nprint(torch.ones(1))\n"
    (tmp_path / "conftest.py").write_text(script)

    def never(self: object) -> None:
        raise AssertionError

    monkeypatch.setattr(interpreter.Interpreter, "run_detached", never)
    result = convert(script, folder=tmp_path)
    assert [finding.code for finding in result.findings] == ["DT004"]


def test_what_nothing_calls_is_left_out_beyond_an_allowance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = f"{HEAD}{MANY}{chain(1, '{next}(x)').removeprefix(HEAD)}"
    assert convert(script).findings == ()
    monkeypatch.setattr(interpreter, "MOST_DETACHED_STEPS", 100)
    result = convert(script)
    assert result.outcome is Outcome.CONVERTED
    assert [finding.code for finding in result.findings] == ["DT011"]
    monkeypatch.setattr(state, "MOST_EVENTS", 10)
    assert convert(script).outcome is Outcome.REFUSED


def test_files_that_import_each_other_in_a_ring_are_looked_at_once(tmp_path: Path) -> None:
    count = 400
    for number in range(count):
        (tmp_path / f"m{number}.py").write_text(f"import m{(number + 1) % count}\n")
    looked: list[str] = []

    class Counting(Gate):
        def _look(self, path: str) -> object:  # type: ignore[override]
            looked.append(path)
            return super()._look(path)

    gate = Counting(["torch"])
    assert not any(gate.lets_through(str(tmp_path / f"m{n}.py")) for n in range(count))
    assert len(looked) < 3 * count
    (tmp_path / "m7.py").write_text("import m8\nimport torch\n")
    gate = Counting(["torch"])
    assert all(gate.lets_through(str(tmp_path / f"m{n}.py")) for n in range(count))
    assert len(looked) < 6 * count


def test_modules_that_name_no_framework_are_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first.py").write_text("import second\n")
    (tmp_path / "second.py").write_text("import first\nx = 1\n")

    def never(self: Project, name: str) -> None:
        raise AssertionError(name)

    with monkeypatch.context() as patched:
        patched.setattr(Project, "_load", never)
        result = convert("import first\n", folder=tmp_path)
    assert [finding.code for finding in result.findings] == ["DT002"]
    assert [file.place for file in result.modules] == ["first.py", "second.py"]
    (tmp_path / "second.py").write_text("import torch\n")
    assert convert("import first\n", folder=tmp_path).findings[0].code == "DT004"


def large_project(folder: Path, script: str) -> Path:
    """A script that imports modules which hold more than is followed, as far as tests allow."""
    package = folder / "library"
    package.mkdir()
    names = [f"part{number}" for number in range(20)]
    (package / "__init__.py").write_text("".join(f"from . import {name}\n" for name in names))
    for name in names:
        text = "".join(f"def f{number}(x):\n    return x\n\n\n" for number in range(20))
        (package / f"{name}.py").write_text(f"import torch.distributed as dist\n\n\n{text}")
    path = folder / "train.py"
    path.write_text(script)
    return path


@pytest.mark.parametrize("limit", ["transpile.distributed.modules.MOST_NAMED",
                                   "transpile.facts.interpreter.MOST_RUN"])  # fmt: skip
def test_what_is_too_large_says_where_it_is(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, 5_000)
    path = large_project(tmp_path, HEAD.replace("import torch\n", "import torch\nimport library\n")
                         + LOOP.replace("g0(x)", "x"))  # fmt: skip
    library = path.parent / "library" / "__init__.py"
    library.write_text(f"from torch.distributed import init_process_group\n{library.read_text()}")
    result = convert(path.read_bytes(), path=str(path))
    assert result.outcome is Outcome.REFUSED
    [found] = [finding for finding in result.findings if finding.code == "DT001"]
    assert Path(found.path).parent == tmp_path / "library"
    assert f"is in '{tmp_path / 'library'}'" in found.message


def test_a_module_of_something_large_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transpile.facts.interpreter.MOST_RUN", 5_000)
    path = large_project(tmp_path, "import torch\nimport library\n\n\ndef f(x):\n    return x()\n")
    result = convert(path.read_bytes(), path=str(path))
    assert result.outcome is Outcome.UNCHANGED
    assert [finding.code for finding in result.findings] == ["DT004"]
    assert "modules are more than can be followed" in result.findings[0].message


MIXING = """\
class Net{number}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x):
        h = self.fc(x)
        return torch.mm(h, h.t()), h


"""


def several_models(count: int) -> str:
    """A script that trains models that each mix their samples."""
    classes = "".join(MIXING.format(number=number) for number in range(count))
    made = "".join(f"net{number} = Net{number}()\n" for number in range(count))
    given = "".join(f"+ list(net{number}.parameters())" for number in range(count))
    summed = " + ".join(f"sum(one.sum() for one in net{number}(x))" for number in range(count))
    loop = LOOP.replace("model(g0(x))", f"model(x) + {summed}").replace(
        "model.parameters()", f"list(model.parameters()) {given}"
    )
    return f"{HEAD}{classes}{made}{loop}"


def test_what_couples_samples_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[int] = Counter()
    plain = couplings.coupling

    def counted(found: Supposing, value: Opaque) -> tuple[str, bool]:
        asked[id(value)] += 1
        return plain(found, value)

    monkeypatch.setattr(couplings, "coupling", counted)
    result = convert(several_models(6), Options(shard="data"))
    assert sum(finding.code == "PT413" for finding in result.findings) == 6
    assert max(asked.values()) == 1


def test_what_a_loss_reaches_is_walked_once_for_all_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walks: list[Values] = []

    def counted(values: Values, enters: Callable[[Value], bool]) -> Iterator[Value]:
        walks.append(values)
        return walk_back(values, enters)

    monkeypatch.setattr(second_passes, "walk_back", counted)
    convert(several_models(6), Options(shard="data"))
    assert 0 < len(walks) <= 2


def test_no_cycles_are_collected_during_a_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    collecting: list[bool] = []
    plain = engine.of_framework

    def noted(*given: Any) -> Any:
        collecting.append(gc.isenabled())
        return plain(*given)

    monkeypatch.setattr(engine, "of_framework", noted)
    assert gc.isenabled()
    convert(several_models(1))
    with pytest.raises(SourceError):
        convert("def")
    assert gc.isenabled()
    gc.disable()
    try:
        convert(several_models(1))
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert collecting == [False, False]


def test_what_tensors_are_joined_of_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[int] = []

    def noted(values: Values, *further: Any) -> Iterator[Value]:
        walked.extend(map(id, values))
        return walk_back(values, *further)

    monkeypatch.setattr(joins, "walk_back", noted)
    layers = (
        "    x = torch.cat([x, torch.relu(x)], 1)\n    x = x.view(x.size(0), -1)\n"
        for _ in range(20)
    )
    result = convert(f"{HEAD}def g0(x):\n{''.join(layers)}    return x[:, :3]\n\n\n{LOOP}")
    assert result.outcome is Outcome.CONVERTED
    # Each way to share a training out, and each kind of question, asks once.
    assert walked and max(Counter(walked).values()) <= 4
