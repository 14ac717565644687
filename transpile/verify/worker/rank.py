"""One rank: a forked process that runs the script under observation."""

from __future__ import annotations

import atexit
import builtins
import faulthandler
import fcntl
import importlib.util
import os
import random
import signal
import struct
import sys
import termios
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transpile.verify.pretend_cuda import install
from transpile.verify.worker.checkpoints import CheckpointObserver
from transpile.verify.worker.files import FileObserver, PathLabels
from transpile.verify.worker.gpus import compute_alike, share
from transpile.verify.worker.inputs import InputObserver
from transpile.verify.worker.journal import Journal
from transpile.verify.worker.layers import LayerObserver
from transpile.verify.worker.loaders import LoaderObserver
from transpile.verify.worker.optimizers import OptimizerObserver, StepLimit
from transpile.verify.worker.trackers import TrackerObserver
from transpile.verify.worker.wrapped_calls import WrappedCallObserver

STACK_SIGNAL = signal.SIGUSR1
"""Makes a rank write where it is; handled outside the interpreter, so that a rank that waits in a
collective answers, too."""

_END_OF_FILE = b"\x04"
_READS = 64
_REACHED = "reached"
_LONGEST_WAIT = 30.0
_PAUSE = 0.02


@dataclass(frozen=True)
class RankTask:
    """What a rank has to do.

    Args:
        script: the script's path.
        arguments: its command line arguments.
        rank: the process's rank.
        environment: variables to set.
        working_directory: where it runs.
        directory: where its evidence goes.
        folders: see :class:`~transpile.verify.worker.files.PathLabels`.
        directories: directories of the job that existed when the run started.
        seed: seed of the generators that the script does not seed.
        double: whether new tensors are float64 by default.
        pretend_cuda: how many GPUs the script sees that are not there.
        noise: whether what they compute differs from process to process in the last digits.
        cuda: whether it sees the GPUs of the machine.
        share_gpus: whether these are shared by processes that are more than they.
        steps: after how many optimizer steps the script is ended; 0 for none.
        packages: how many packages hold the script, where it runs as a module of them.
    """

    script: Path
    arguments: tuple[str, ...]
    rank: int
    environment: Mapping[str, str]
    working_directory: Path
    directory: Path
    folders: Mapping[str, str]
    directories: frozenset[str]
    seed: int
    double: bool
    pretend_cuda: int
    noise: bool
    cuda: bool
    share_gpus: bool
    steps: int
    packages: int


def execute(task: RankTask) -> int:
    """Run the script as ``python script.py``, or ``python -m``, would; gives the exit status.

    Raises:
        SystemExit: the script raised it.
    """
    _redirect(task.directory)
    os.environ.update(task.environment)
    os.chdir(task.working_directory)
    sys.argv = [str(task.script), *task.arguments]
    sys.path.insert(0, str(task.script.parents[task.packages]))
    if task.pretend_cuda:
        install(task.pretend_cuda, task.noise)
    if task.cuda:
        compute_alike()
    if task.share_gpus:
        share(int(task.environment.get("LOCAL_WORLD_SIZE", 1)))
    _seed(task)
    _forget_own_modules()
    stack = (task.directory / "stack").open("w")
    faulthandler.enable()
    faulthandler.register(STACK_SIGNAL, file=stack, all_threads=True)
    _observe(task)
    return _run_script(task.script, task.packages)


def _redirect(directory: Path) -> None:
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        opened = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    terminal = _terminal()
    os.dup2(terminal, 0)
    os.close(terminal)
    # By line: what was printed before the rank is killed must not be lost in a buffer.
    streams: tuple[tuple[str, int, Any], ...] = (
        ("stdin", 0, "r"),
        ("stdout", 1, "w"),
        ("stderr", 2, "w"),
    )
    for name, descriptor, mode in streams:
        stream = os.fdopen(descriptor, mode, encoding="utf-8", closefd=False, buffering=1)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _terminal() -> int:
    """A terminal with nothing to read: scripts that draw progress bars ask one for its width."""
    try:
        keyboard, terminal = os.openpty()
    except OSError:
        return os.open(os.devnull, os.O_RDONLY)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.write(keyboard, _END_OF_FILE * _READS)
    return terminal


def _seed(task: RankTask) -> None:
    """Make what the script does not seed itself repeatable, but different on every rank.

    Equal seeds would hide initial weights, splits and orders that ranks do not agree on.
    """
    torch: Any = importlib.import_module("torch")
    seed = task.seed + task.rank
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if task.double:
        torch.set_default_dtype(torch.float64)


def _forget_own_modules() -> None:
    """A project may have a module of this package's name: it must find its own."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "transpile":
            del sys.modules[name]


def _observe(task: RankTask) -> None:
    journal = Journal(task.directory)
    labels = PathLabels(task.working_directory, task.folders)
    loaders = LoaderObserver(journal)
    inputs = InputObserver(journal)
    layers = LayerObserver(journal)
    limit = StepLimit(task.steps, lambda: end())
    optimizers = OptimizerObserver(journal, loaders, (inputs, layers), limit)
    files = FileObserver(journal, labels, task.directories)
    checkpoints = CheckpointObserver(journal, files)
    if "RANK" in task.environment:
        WrappedCallObserver(journal).install()
    trackers = TrackerObserver(journal)
    for observer in (loaders, inputs, layers, optimizers, files, checkpoints, trackers):
        observer.install()

    def finish() -> None:
        if journal.own_process:
            files.finish()
            optimizers.finish()

    # The first one registered runs last, after what the script registers.
    atexit.register(finish)
    plain_exit = os._exit

    def exit_at_once(status: int) -> None:
        finish()
        plain_exit(status)

    os._exit = exit_at_once  # type: ignore[assignment]

    def end() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        finish()
        _wait_for_others(task.directory)
        # Nothing of the script runs any more, neither its handlers nor what it registered.
        plain_exit(0)


def _wait_for_others(directory: Path) -> None:
    """Wait until all ranks are here: one that left earlier would break what others still send."""
    (directory / _REACHED).touch()
    others = [rank / _REACHED for rank in directory.parent.iterdir()]
    deadline = time.monotonic() + _LONGEST_WAIT
    while time.monotonic() < deadline and not all(other.exists() for other in others):
        time.sleep(_PAUSE)


def _run_script(script: Path, packages: int) -> int:
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    try:
        if packages:
            name = ".".join(script.with_suffix("").parts[-packages - 1 :])
            module.__package__ = name.rpartition(".")[0]
            module.__spec__ = importlib.util.find_spec(name)
        code = compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace.tb_next if trace is not None else None)
        return 1
    return 0


def task_of(request: Mapping[str, Any], rank: int, directories: Sequence[str]) -> RankTask:
    """The task of one rank of a request."""
    return RankTask(
        script=Path(request["script"]),
        arguments=tuple(request["arguments"]),
        rank=rank,
        environment=request["environments"][rank],
        working_directory=Path(request["working_directory"]),
        directory=Path(request["directories"][rank]),
        folders=request["folders"],
        directories=frozenset(directories),
        seed=request["seed"],
        double=request["double"],
        pretend_cuda=request["pretend_cuda"],
        noise=request["noise"],
        cuda=request["cuda"],
        share_gpus=request["share_gpus"],
        steps=request["steps"],
        packages=request["packages"],
    )
