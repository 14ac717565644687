"""What is recorded of a script that uses loaders, optimizers and files in many ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile.verify.evidence import Iteration, OptimizerEvidence, RankEvidence, Touch
from transpile.verify.launcher import Launcher

SCRIPT = Path(__file__).parent / "scripts" / "observed.py"


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> RankEvidence:
    folder = tmp_path_factory.mktemp("observed")
    (folder / "job" / "seeded").mkdir(parents=True)
    with Launcher() as launcher:
        run = launcher.run(
            SCRIPT,
            (),
            world_size=0,
            working_directory=folder / "job",
            evidence=folder / "evidence",
            folders={folder / "job": ""},
            timeout_seconds=60,
        )
    assert run.finished, run.first.errors
    return run.first


def test_every_pass_has_the_samples_that_were_taken(observed: RankEvidence) -> None:
    (
        first,
        second,
        left_early,
        subset,
        single,
        own_batches,
        stream,
        again,
        last,
    ) = observed.iterations
    assert first.batches == second.batches == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert first.loader == second.loader
    assert first.exhausted and second.exhausted
    # Two workers have fetched more batches ahead than the one that was taken.
    assert left_early.batches == ((0, 1),)
    assert not left_early.exhausted
    # Indices of the data set at the bottom of all subsets.
    assert subset.batches == ((3, 7),)
    assert single.batches == ((0,), (1,), (2,))
    assert own_batches.batches == ((0, 1, 2), (6,))
    assert own_batches.own_batches and not first.own_batches
    assert [len(batch) for batch in stream.batches] == [2, 2, 1]
    assert len(set(stream.samples)) == 5
    assert stream.samples == again.samples
    assert stream.dataset_length is None
    assert first.dataset_length == last.dataset_length == 8


def test_the_passes_that_train_are_known(observed: RankEvidence) -> None:
    def trained(entry: Iteration) -> tuple[int, int]:
        return entry.backwards, entry.steps

    assert [trained(entry) for entry in observed.iterations] == [
        (2, 2),
        (2, 2),
        *[(0, 0)] * 6,
        (1, 1),
    ]
    assert [entry.number for entry in observed.training] == [0, 1, 8]


def test_every_step_is_counted_once(observed: RankEvidence) -> None:
    def steps(entry: OptimizerEvidence) -> tuple[str, int]:
        return entry.kind, entry.steps

    assert [steps(entry) for entry in observed.optimizers] == [
        ("SGD", 4),
        ("Twice", 1),
        ("LBFGS", 1),
        # The step with infinite gradients, which the scaler leaves out, is one of them.
        ("SGD", 3),
        ("SGD", 1),
    ]
    plain = observed.optimizers[0]
    assert plain.learning_rates == ((0.1, 0.2),) * 4
    assert plain.shapes == ((1, 1), (1,))
    assert plain.wrapped == (False, False)
    assert len(plain.read_values()) == 2


def test_equal_parameters_have_equal_digests(observed: RankEvidence) -> None:
    plain, twice, search, scaled, copied = observed.optimizers
    assert plain.digest == twice.digest == search.digest == scaled.digest
    assert copied.digest != scaled.digest
    assert plain.first_digest not in (None, plain.digest)


def test_changes_of_files_are_known(observed: RankEvidence) -> None:
    changes = {(entry.path, entry.how) for entry in observed.writes}
    assert changes == {
        ("state.pt", "save"),
        ("whole.pt", "save"),
        ("numbers.txt", "open"),
        ("numbers.txt", "remove"),
        ("renamed.txt", "rename"),
        ("out", "mkdir"),
        ("out/deep", "mkdir"),
    }
    assert {entry.path for entry in observed.writes if entry.touch is Touch.DIRECTORY} == {
        "out",
        "out/deep",
    }


def test_checkpoints_are_described(observed: RankEvidence) -> None:
    state, whole = observed.checkpoints
    assert state.path == "state.pt"
    assert state.leaves["net/weight"] == "torch.float32 (1, 1)"
    assert state.leaves["net/bias"] == "torch.float32 (1,)"
    assert state.leaves["history"] == "list"
    assert state.leaves["groups/0/lr"] == "float"
    assert whole.leaves == {
        "<module>": "Linear",
        "weight": "torch.float32 (1, 1)",
        "bias": "torch.float32 (1,)",
    }
