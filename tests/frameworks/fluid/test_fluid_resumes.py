"""A converted Fluid script goes on from its own checkpoint as one process does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from cases import cases
from fluid_cluster import Cluster, Ended

CASE = next(case for case in cases("fluid") if case.folder.name == "resumed_training")


def test_a_resumed_training_goes_on(interpreter_of: Callable[[str], Path], tmp_path: Path) -> None:
    ends: dict[tuple[str, int], Ended] = {}
    for kind in ("alone", "together"):
        arguments = ("--checkpoint", str(tmp_path / f"checkpoint-{kind}"))
        for turn in range(2):
            work = tmp_path / f"{kind}-{turn}"
            work.mkdir()
            cluster = Cluster(interpreter_of("fluid"), CASE.folder, work)
            if kind == "alone":
                ends[kind, turn] = cluster.alone("train.py", arguments)
            else:
                ends[kind, turn] = cluster.together("train_dist.py", arguments, servers=2)[0]
            assert ends[kind, turn].status == 0, ends[kind, turn].errors[-2000:]
    saved = [
        sorted(path.name for path in tmp_path.glob(f"checkpoint-{kind}/*"))
        for kind in ("alone", "together")
    ]
    assert saved[0] == saved[1] and "@LR_DECAY_COUNTER@" in saved[0]
    for turn in range(2):
        with (
            np.load(ends["alone", turn].parameters) as one,
            np.load(ends["together", turn].parameters) as first,
        ):
            assert one.files
            for name in one.files:
                np.testing.assert_allclose(first[name], one[name], atol=1e-5, rtol=1e-5)
