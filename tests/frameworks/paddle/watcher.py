"""Runs a script and writes down what it trains, draws and writes: ``watcher.py FOLDER SCRIPT ...``.

It is started in the environment that has Paddle, and by Paddle's launcher as often as there are
processes.
"""

from __future__ import annotations

import builtins
import os
import pickle
import runpy
import sys
from typing import Any

import numpy as np
import paddle
from paddle.io.dataloader import dataloader_iter

SEEN: dict[str, Any] = {"steps": 0, "drawn": [], "written": []}
OPTIMIZERS: list[Any] = []
PROGRAMS: list[Any] = []
REAL_OPEN: Any = builtins.open


def watch_steps() -> None:
    """Count optimizer steps, and remember what is optimized."""

    def counting(method: Any) -> Any:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if paddle.in_dynamic_mode():
                SEEN["steps"] += 1
                if not any(self is other for other in OPTIMIZERS):
                    OPTIMIZERS.append(self)
            return method(self, *args, **kwargs)

        return step

    base = paddle.optimizer.Optimizer
    for kind in [base, *base.__subclasses__()]:
        for word in ("step", "minimize"):
            if word in vars(kind):
                setattr(kind, word, counting(getattr(kind, word)))


def watch_programs() -> None:
    """Count the runs of static programs that are fed, and remember the programs."""
    run = paddle.static.Executor.run

    def running(self: Any, program: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = run(self, program, *args, **kwargs)
        fed = kwargs.get("feed", args[0] if args else None)
        if fed:
            SEEN["steps"] += 1
            chosen = program or paddle.static.default_main_program()
            if not any(chosen is other for other in PROGRAMS):
                PROGRAMS.append(chosen)
        return result

    paddle.static.Executor.run = running


def program_values() -> list[Any]:
    """What the static programs keep between their runs, in the order of the names."""
    scope = paddle.static.global_scope()
    names = {v.name for program in PROGRAMS for v in program.list_vars() if v.persistable}
    found = [(name, scope.find_var(name)) for name in sorted(names)]
    return [np.array(value.get_tensor()) for _, value in found if value is not None]


def watch_samples() -> None:
    """Remember which samples are drawn: loader, pass, batch."""
    base = dataloader_iter._DataLoaderIterBase
    start = base.__init__
    loaders: list[Any] = []

    def drawing(self: Any, loader: Any) -> None:
        start(self, loader)
        if not any(loader is other for other in loaders):
            loaders.append(loader)
            SEEN["drawn"].append([])
        number = next(i for i, other in enumerate(loaders) if other is loader)
        batches: list[Any] = []
        SEEN["drawn"][number].append(batches)
        inner = self._sampler_iter

        def record() -> Any:
            for batch in inner:
                # A stream has no indices.
                if isinstance(batch, (list, tuple)) and None not in batch:
                    batches.append([int(index) for index in batch])
                yield batch

        self._sampler_iter = record()

    base.__init__ = drawing


def watch_files() -> None:
    """Remember which files are written."""
    save = paddle.save

    def saving(thing: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        SEEN["written"].append(os.path.basename(str(path)))
        return save(thing, path, *args, **kwargs)

    def opening(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        name = str(file)
        local = not os.path.isabs(name) or name.startswith(os.getcwd())
        if set(mode) & set("wax") and local and not name.endswith((".pdparams", ".pdopt")):
            SEEN["written"].append(os.path.basename(name))
        return REAL_OPEN(file, mode, *args, **kwargs)

    save_static = paddle.static.save

    def saving_static(program: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        SEEN["written"].append(os.path.basename(str(path)))
        return save_static(program, path, *args, **kwargs)

    paddle.save = saving
    paddle.static.save = saving_static
    builtins.open = opening


def report(folder: str) -> None:
    """Write what was seen, with the parameters as they are at the end."""
    if PROGRAMS:
        SEEN["parameters"] = program_values()
    else:
        SEEN["parameters"] = [
            parameter.numpy() for optimizer in OPTIMIZERS for parameter in optimizer._parameter_list
        ]
    rank = os.environ.get("PADDLE_TRAINER_ID", "0")
    with REAL_OPEN(os.path.join(folder, f"{rank}.pickle"), "wb") as stream:
        pickle.dump(SEEN, stream)


def main(folder: str, script: str, *arguments: str) -> None:
    """Run the script as if Python had started it."""
    watch_steps()
    watch_programs()
    watch_samples()
    watch_files()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    report(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
