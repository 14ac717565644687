"""What the command costs, and how its processes start and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fake_engine
import pytest
from on_fake_engine import PROGRAM, PYTHON_PATH, Run, process, script


class TestCost:
    def modules(self, words: list[str]) -> set[str]:
        """What the command has imported by its end."""
        code = "status = main(); print(*sys.modules, sep=',', file=sys.stderr); sys.exit(status)"
        script("train.py", fake_engine.TRAINING)
        run = process(words, code=code)
        return set(run.errors.splitlines()[-1].split(","))

    def test_conversion_imports_what_it_needs_alone(self) -> None:
        # click itself imports difflib for a short option.
        modules = self.modules(["train.py", "--output", "out.py"])
        assert "click" in modules
        unwanted = {"rich", "difflib", "transpile.verify", "transpile.report.json"}
        unwanted |= {"libcst.matchers", "libcst.codemod", "asyncio", "hashlib"}
        assert sorted(modules & unwanted) == []

    def test_help_does_not_import_libcst(self) -> None:
        code = (
            "import sys; from transpile.cli import main; status = main(['--help']);"
            "print(*sys.modules, sep=',', file=sys.stderr); sys.exit(status)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": PYTHON_PATH},
            timeout=60,
        )
        assert done.returncode == 0
        modules = set(done.stderr.split(","))
        assert not modules & {"libcst", "rich", "difflib", "transpile.engine", "transpile.catalog"}


class TestStart:
    """The command as a process of its own, on the real engine."""

    def started(self, *words: str, stdin: bytes = b"") -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "transpile", *words],
            input=stdin,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": PYTHON_PATH},
            timeout=60,
        )
        return Run(done.returncode, done.stdout, done.stderr.decode())

    def test_everything_is_written_before_the_process_ends(self) -> None:
        script("idle.py", fake_engine.IDLE * 1000)
        run = self.started("idle.py")
        assert (run.status, run.output) == (0, fake_engine.IDLE * 1000)
        assert run.errors.endswith("1 unchanged (1 note)\n")

    def test_the_status_gets_out(self) -> None:
        script("idle.py", fake_engine.IDLE)
        assert self.started("idle.py", "--check").status == 0
        assert self.started("missing.py").status == 2
        assert self.started("--unknown").status == 2
        help_text = self.started("--help")
        assert (help_text.status, help_text.errors) == (0, "")
        assert help_text.output.endswith(b"the findings say why\n")


def test_many_scripts_do_not_pile_up() -> None:
    code = """
import gc, resource
gc.disable()
engine = sys.modules["transpile.engine"]
original = engine.convert
def convert(source, options, path):
    cycle = [[] for _ in range(100_000)]
    cycle.append(cycle)
    return original(source, options, path=path)
engine.convert = convert
alone = ["--check", "-j", "1", "--no-cache"]
main(["a.py"] * 2 + alone)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
main(["a.py"] * 20 + alone)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    script("a.py", fake_engine.TRAINING)
    kibibytes = int(process([], code="\n" + code).output)
    # All of them would take 150 MiB; a part of them waits to be taken away together.
    assert kibibytes < 60 * 1024


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_command(how: signal.Signals) -> None:
    code = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # Tests in the background ignore it.
engine = sys.modules["transpile.engine"]
def convert(source, options, path):
    with open(f"{os.getpid()}.pid", "w"):
        time.sleep(60)
engine.convert = convert
from transpile.cli import start
start()
"""
    for index in range(16):
        script(f"project/{index}.py", fake_engine.TRAINING)
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code, "project", "--check"],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(list(Path().glob("*.pid"))) == min(len(os.sched_getaffinity(0)), 4))
    workers = {int(path.stem) for path in Path().glob("*.pid")} - {started.pid}
    started.send_signal(how)
    _, errors = started.communicate(timeout=120)
    assert started.returncode == (130 if how is signal.SIGINT else -how)
    assert errors.strip() == ("disttranspile: interrupted" if how is signal.SIGINT else "")
    wait_until(lambda: not any(is_running(worker) for worker in workers))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False  # It has ended since it was asked.
    return status.rsplit(")", 1)[1].split()[0] != "Z"


def test_the_version_needs_no_command() -> None:
    code = "from transpile.cli import main; main(['--version']); import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        capture_output=True,
        text=True,
    )
    version, loaded = done.stdout.splitlines()
    assert version.startswith("disttranspile, version ")
    own = [name for name in loaded.split() if name.startswith("transpile.cli.commands.")]
    assert own == ["transpile.cli.commands.group"]
    assert not {"libcst", "rich", "msgspec", "transpile.reading"} & {*loaded.split()}
