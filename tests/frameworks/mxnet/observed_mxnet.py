"""Runs a script, and records in a worker what it trained on, ended with and wrote.

Nothing is recorded in servers and the scheduler, which never return from ``import mxnet``.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from typing import Any


def observe(folder: str) -> None:
    """Record into a file of its own below `folder`."""
    import mxnet as mx

    seen: dict[str, Any] = {
        "samples": [],
        "steps": 0,
        "files": [],
        "parameters": {},
        "rank": 0,
        "workers": 1,
    }
    last: dict[str, Any] = {"batch": [], "owner": None, "training": False, "chain": False}

    def digests(arrays: Any) -> list[str]:
        parts = [array.asnumpy() for array in arrays if array is not None]
        return [
            hashlib.sha1(b"".join(part[i].tobytes() for part in parts)).hexdigest()
            for i in range(len(parts[0]))
        ]

    def around(
        owner: Any,
        name: str,
        before: Callable[..., None] | None = None,
        after: Callable[..., None] | None = None,
    ) -> None:
        original = getattr(owner, name)

        def replaced(*args: Any, **kwargs: Any) -> Any:
            if before is not None:
                before(*args)
            result = original(*args, **kwargs)
            if after is not None:
                after(result, *args)
            return result

        setattr(owner, name, replaced)

    def iterate(loader: Any, original: Any = mx.gluon.data.DataLoader.__iter__) -> Iterator[Any]:
        for batch in original(loader):
            last["batch"] = digests(batch if isinstance(batch, (list, tuple)) else [batch])
            yield batch

    mx.gluon.data.DataLoader.__iter__ = iterate

    def taken(owner: Any) -> None:
        seen["steps"] += 1
        seen["samples"].extend(last["batch"])
        last["owner"] = owner

    def drawn(module: Any, batch: Any, *rest: Any) -> None:
        if not isinstance(batch, list) and not last["chain"]:
            pad = batch.pad or 0
            found = digests([*batch.data, *(batch.label or [])])
            last["batch"] = found[: len(found) - pad]

    def stored(made: Any, *args: Any) -> None:
        seen["rank"], seen["workers"] = made.rank, made.num_workers

    around(mx.kv, "create", after=stored)
    around(mx.gluon.Trainer, "step", before=lambda trainer, *rest: taken(trainer))
    around(mx.gluon.Trainer, "update", before=lambda trainer, *rest: taken(trainer))

    def entered(chain: Any, batch: Any, *rest: Any) -> None:
        drawn(chain, batch)
        # What its modules hand on to each other are no samples.
        last["chain"] = True

    def left(*args: Any) -> None:
        last["chain"] = False

    around(mx.mod.SequentialModule, "forward", before=entered, after=left)
    around(mx.mod.Module, "forward", before=drawn)
    around(mx.mod.Module, "update", before=taken)

    def fed(manager: Any, batch: Any) -> None:
        if last["training"]:
            drawn(manager, batch)

    def began(model: Any, *rest: Any) -> None:
        last["training"], last["owner"] = True, model

    def counted(*args: Any) -> None:
        taken(last["owner"])

    manager = mx.executor_manager.DataParallelExecutorManager
    around(manager, "load_data_batch", before=fed)
    around(mx.model.FeedForward, "fit", before=began)
    around(mx.model, "_update_params", before=counted)
    around(mx.model, "_update_params_on_kvstore", before=counted)

    def wrote(*args: Any) -> None:
        names = [str(a) for a in args if isinstance(a, str)]
        seen["files"].append(names[0] if names else "")

    around(mx.nd, "save", before=wrote)
    around(mx.gluon.Block, "save_parameters", before=wrote)

    def finish() -> None:
        owner = last["owner"]
        values = {}
        if isinstance(owner, mx.gluon.Trainer):
            for number, param in enumerate(owner._params):
                values[str(number)] = param.list_data()[0].asnumpy().ravel().tolist()
        elif isinstance(owner, mx.model.FeedForward):
            for name, value in owner.arg_params.items():
                values[name] = value.asnumpy().ravel().tolist()
        elif owner is not None:
            for params in owner.get_params():
                for name, value in params.items():
                    values[name] = value.asnumpy().ravel().tolist()
        seen["parameters"] = values
        path = os.path.join(folder, f"worker-{seen['rank']}.json")
        with open(path, "w") as out:
            json.dump(seen, out)

    atexit.register(finish)


if __name__ == "__main__":
    if os.environ.get("DMLC_ROLE", "worker") == "worker":
        observe(os.environ["MXNET_EVIDENCE"])
    del sys.argv[0]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
