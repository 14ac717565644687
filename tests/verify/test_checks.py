"""The judgements, on evidence written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_by_hand import (
    evaluation_pass,
    optimizer,
    run,
    training_pass,
    training_run,
    values,
)

from transpile.verify.checks import (
    checkpoints,
    evaluation,
    files,
    outcome,
    output,
    parameters,
    shards,
    steps,
)
from transpile.verify.checks.text import mask_numbers, numbers, printed_lines
from transpile.verify.evidence import (
    Checkpoint,
    Ending,
    Iteration,
    ModelInput,
    RankEvidence,
    RunEvidence,
    Touch,
    Write,
)
from transpile.verify.expectation import Expectation
from transpile.verify.judge import excuse_chance, judge_distributed, judge_single
from transpile.verify.report import Check, Status, failed, passed

GLOBAL = Expectation()
EXACTLY = Expectation(tolerance=1e-5)
OPEN_END = Expectation(length_may_differ=True)
PER_DEVICE = Expectation(batch_size="per-device")


# Shards


def test_shards_that_share_nothing_are_disjoint() -> None:
    original = training_run([training_pass([0, 1, 2, 3], length=4)])
    assert shards.disjoint(
        original, training_run([training_pass([0, 2])], [training_pass([1, 3])]), GLOBAL
    ).passed
    check = shards.disjoint(
        original, training_run([training_pass([0, 1])], [training_pass([1, 2])]), GLOBAL
    )
    # One repeated sample is padding; which one is missing is the other check's business.
    assert check.passed
    check = shards.disjoint(
        original, training_run([training_pass([0, 1])], [training_pass([0, 1])]), GLOBAL
    )
    assert check.failed
    assert "2 of 4 visits" in check.detail


def test_shards_are_told_by_what_samples_hold_too() -> None:
    original = training_run([training_pass([0, 1], [2, 3], holding="ab cd")])
    ignored = ([training_pass([0], [2], holding="a b")], [training_pass([1], [3], holding="a b")])
    check = shards.disjoint(original, training_run(*ignored), GLOBAL)
    assert check.failed
    assert "2 of 4 samples hold what another one does, in the original 0" in check.detail
    alike = training_run([training_pass([0, 1], [2, 3], holding="aa bb")])
    assert shards.disjoint(alike, training_run(*ignored), GLOBAL).passed
    unseen = training_run([training_pass([0], [2])], [training_pass([1], [3], holding="a b")])
    assert shards.disjoint(original, unseen, GLOBAL).passed


def test_own_batches_are_padded_one_by_one() -> None:
    shares = ([training_pass([0], [3])], [training_pass([1], [4])])
    padded = training_run([training_pass([0, 1], [3, 4])], [training_pass([2, 0], [5, 3])])
    own = training_run([training_pass([0, 1, 2], [3, 4, 5], own_batches=True)])
    plain = training_run([training_pass([0, 1, 2], [3, 4, 5])])
    assert shards.disjoint(own, padded, GLOBAL).passed
    assert shards.disjoint(plain, padded, GLOBAL).failed
    assert shards.disjoint(own, training_run(*shares), GLOBAL).passed


def test_draws_with_replacement_may_repeat_but_not_be_the_same() -> None:
    original = training_run([training_pass([0, 0, 1, 2], length=3)])
    different = training_run([training_pass([0, 0])], [training_pass([1, 0])])
    same = training_run([training_pass([0, 1])], [training_pass([0, 1])])
    fewer = training_run([training_pass([0])], [training_pass([1])])
    assert shards.disjoint(original, different, GLOBAL).passed
    assert shards.complete(original, different, GLOBAL).passed
    assert shards.disjoint(original, same, GLOBAL).failed
    assert shards.complete(original, fewer, GLOBAL).failed


def test_shards_are_complete_when_nothing_is_missing() -> None:
    original = training_run([training_pass([0, 1, 2, 3], length=4)])
    whole = training_run([training_pass([0, 2])], [training_pass([1, 3])])
    check = shards.complete(
        original, training_run([training_pass([0, 1])], [training_pass([1, 2])]), GLOBAL
    )
    assert shards.complete(original, whole, GLOBAL).passed
    assert check.failed
    assert "1 of 4 samples missing" in check.detail


def test_a_dropped_remainder_may_be_another_one() -> None:
    original = training_run([training_pass([0, 1, 2, 3], length=5)])
    other = training_run([training_pass([0, 2])], [training_pass([1, 4])])
    fewer = training_run([training_pass([0])], [training_pass([1])])
    assert shards.complete(original, other, GLOBAL).passed
    assert shards.complete(original, fewer, GLOBAL).failed


def test_a_rank_with_an_epoch_less_is_incomplete() -> None:
    original = training_run([training_pass([0, 1]), training_pass([1, 0], number=1)])
    shorter = training_run([training_pass([0]), training_pass([1], number=1)], [training_pass([1])])
    check = shards.complete(original, shorter, GLOBAL)
    assert check.failed
    assert "rank 1 makes 1 training passes, the original 2" in check.detail


def epochs(*orders: list[int], dataset: int = 0) -> tuple[Iteration, ...]:
    return tuple(
        training_pass(order, number=number, dataset=dataset) for number, order in enumerate(orders)
    )


@pytest.mark.parametrize(
    ("original", "rank", "status"),
    [
        (([0, 1, 2, 3], [3, 1, 0, 2]), ([0, 1], [1, 3]), Status.PASSED),
        (([0, 1, 2, 3], [3, 1, 0, 2]), ([0, 1], [0, 1]), Status.FAILED),
        (([0, 1, 2, 3], [0, 1, 2, 3]), ([0, 2], [0, 2]), Status.PASSED),
        (([0, 1, 2, 3], [0, 1, 2, 3]), ([2, 0], [0, 2]), Status.FAILED),
        (([0, 1, 2, 3],), ([0, 2],), Status.PASSED),
        (([0, 1, 2, 3, 4],), ([1, 3, 0],), Status.PASSED),
        (([2, 1, 0, 3],), ([0, 2],), Status.NOT_APPLICABLE),
    ],
)
def test_the_order_changes_where_the_original_changes(
    original: tuple[list[int], ...], rank: tuple[list[int], ...], status: Status
) -> None:
    reference = RunEvidence(0, (RankEvidence(0, iterations=epochs(*original)),))
    converted = RunEvidence(2, (RankEvidence(0, iterations=epochs(*rank)),))
    assert shards.order(reference, converted, GLOBAL).status is status


def feeding(*ranks: tuple[ModelInput, ...]) -> RunEvidence:
    return run(*(RankEvidence(rank, inputs=inputs) for rank, inputs in enumerate(ranks)))


def test_without_loaders_the_same_work_on_every_rank_shows() -> None:
    original = feeding((ModelInput("a", 8),))
    same = feeding((ModelInput("a", 8),), (ModelInput("a", 8),))
    shared = feeding((ModelInput("a", 4),), (ModelInput("b", 4),))
    none = feeding((), ())
    assert shards.disjoint(original, same, GLOBAL).failed
    assert shards.disjoint(original, shared, GLOBAL).status is Status.NOT_APPLICABLE
    assert shards.disjoint(original, none, GLOBAL).status is Status.NOT_APPLICABLE
    assert steps.global_batch(original, same, GLOBAL).failed
    assert steps.global_batch(original, same, PER_DEVICE).passed
    assert steps.global_batch(original, shared, GLOBAL).passed
    assert steps.global_batch(original, shared, PER_DEVICE).failed
    assert steps.global_batch(original, none, GLOBAL).status is Status.NOT_APPLICABLE


# Steps


def test_the_batches_of_all_ranks_make_the_global_batch() -> None:
    original = training_run([training_pass([0, 1, 2, 3], [4, 5, 6])])
    good = training_run([training_pass([0, 2], [4, 6])], [training_pass([1, 3], [5, 0])])
    large = training_run([training_pass([0, 1, 2, 3])], [training_pass([4, 5, 6, 0])])
    padded = training_run([training_pass([0, 2, 4], [5])], [training_pass([1, 3], [6])])
    assert steps.global_batch(original, good, GLOBAL).passed
    check = steps.global_batch(original, large, GLOBAL)
    assert check.failed
    assert "4 + 4 samples, in the original 4" in check.detail
    assert steps.global_batch(original, padded, GLOBAL).failed


def test_per_device_batches_are_the_original_ones() -> None:
    original = training_run([training_pass([0, 1], [2, 3], length=4)])
    same = training_run([training_pass([0, 1])], [training_pass([2, 3])])
    divided = training_run([training_pass([0], [2])], [training_pass([1], [3])])
    larger = training_run([training_pass([0, 1, 2])], [training_pass([1, 3, 2])])
    assert steps.global_batch(original, same, PER_DEVICE).passed
    assert steps.global_batch(original, divided, PER_DEVICE).failed
    assert steps.global_batch(original, larger, PER_DEVICE).failed


def stepping(*ranks: tuple[float, ...]) -> RunEvidence:
    return run(*(RankEvidence(r, optimizers=(optimizer(*rates),)) for r, rates in enumerate(ranks)))


def test_every_rank_takes_the_steps_of_the_original() -> None:
    original = stepping((0.1, 0.1))
    assert steps.optimizer_steps(original, stepping((0.1, 0.1), (0.1, 0.1)), GLOBAL).passed
    check = steps.optimizer_steps(original, stepping((0.1, 0.1), (0.1,)), GLOBAL)
    assert check.failed
    assert "rank 0: 2, rank 1: 1; in the original 2" in check.detail
    assert steps.optimizer_steps(original, stepping((0.1,), (0.1,)), GLOBAL).failed
    assert steps.optimizer_steps(original, stepping((0.1,), (0.1,)), PER_DEVICE).passed
    assert steps.optimizer_steps(original, stepping((0.1,), ()), PER_DEVICE).failed


def test_every_step_has_the_learning_rate_of_the_original() -> None:
    original = stepping((0.1, 0.05))
    good = stepping((0.1, 0.05), (0.1, 0.05 * (1 + 1e-12)))
    assert steps.learning_rates(original, good, GLOBAL).passed
    check = steps.learning_rates(original, stepping((0.1, 0.05), (0.1, 0.06)), GLOBAL)
    assert check.failed
    assert check.detail == "rank 1, optimizer 0, step 1: 0.06, in the original 0.05"
    shorter = stepping((0.1,), (0.1,))
    assert steps.learning_rates(original, shorter, GLOBAL).status is Status.NOT_APPLICABLE
    scaled = stepping((0.2,), (0.2,))
    assert steps.learning_rates(original, scaled, PER_DEVICE).passed
    assert steps.learning_rates(original, stepping((0.2,), (0.3,)), PER_DEVICE).failed


def test_a_script_that_stops_by_itself_may_stop_elsewhere_but_not_on_one_rank() -> None:
    def stopping(*epochs: int) -> RunEvidence:
        rates = (0.1, 0.05, 0.02, 0.01)
        return run(
            *(
                RankEvidence(
                    rank,
                    iterations=(
                        *(training_pass([0, 1], number=number) for number in range(count)),
                        *(evaluation_pass([5], number=9 + number) for number in range(count)),
                    ),
                    optimizers=(optimizer(*rates[:count]),),
                )
                for rank, count in enumerate(epochs)
            )
        )

    original = stopping(3)
    judges = (
        shards.complete,
        steps.optimizer_steps,
        evaluation.evaluation_complete,
    )
    for judge in judges:
        assert judge(original, stopping(2, 2), OPEN_END).passed
        assert judge(original, stopping(4, 4), OPEN_END).passed
        assert judge(original, stopping(2, 2), GLOBAL).failed
        assert judge(original, stopping(3, 2), OPEN_END).failed
    assert steps.learning_rates(original, stopping(2, 2), OPEN_END).passed


def test_a_script_that_stops_by_itself_takes_the_steps_of_each_epoch() -> None:
    def epoch(*batches: list[int]) -> RankEvidence:
        return RankEvidence(0, iterations=(training_pass(*batches),), optimizers=(optimizer(0.1),))

    check = steps.optimizer_steps(run(epoch([0, 1])), run(epoch([0], [1])), OPEN_END)
    assert check.failed
    assert check.detail == "training pass 0: 2 steps, in the original 1"


# Parameters


def with_values(path: Path, *numbers: float, digest: str) -> RankEvidence:
    file = values(path, *numbers)
    return RankEvidence(0, optimizers=(optimizer(0.1, digest=digest, values=file),))


def test_parameters_must_be_equal_bit_for_bit_on_all_ranks(tmp_path: Path) -> None:
    first = with_values(tmp_path / "a", 1.0, 2.0, 4.0, digest="a")
    other = with_values(tmp_path / "b", 1.0, 2.0, 4.0 + 1e-15, digest="b")
    original = run(first)
    assert parameters.equal_on_all_ranks(original, run(first, first), GLOBAL).passed
    assert parameters.equal_on_all_ranks(original, run(first, other), GLOBAL).failed
    gone = RankEvidence(1, optimizers=(optimizer(0.1, digest=None),))
    assert parameters.equal_on_all_ranks(original, run(first, gone), GLOBAL).failed


def test_the_difference_is_relative_to_the_parameter(tmp_path: Path) -> None:
    left = with_values(tmp_path / "a", 100.0, -200.0, 0.0, digest="a").optimizers[0]
    right = with_values(tmp_path / "b", 100.0, -201.0, 0.0, digest="b").optimizers[0]
    nan = with_values(tmp_path / "c", 100.0, float("nan"), 0.0, digest="c").optimizers[0]
    short = with_values(tmp_path / "d", 100.0, digest="d").optimizers[0]
    assert parameters.largest_difference(left, left) == 0
    assert parameters.largest_difference(left, right) == pytest.approx(1 / 200)
    assert parameters.largest_difference(left, nan) == float("inf")
    assert parameters.largest_difference(left, short) == float("inf")


def test_equivalence_keeps_to_its_tolerance(tmp_path: Path) -> None:
    original = run(with_values(tmp_path / "a", 1.0, 2.0, 4.0, digest="a"))
    near = run(with_values(tmp_path / "b", 1.0, 2.0, 4.0 + 1e-9, digest="b"))
    assert parameters.equivalence(original, near, Expectation(tolerance=1e-8)).passed
    assert parameters.equivalence(original, near, Expectation(tolerance=1e-11)).failed
    status = parameters.equivalence(original, near, GLOBAL).status
    assert status is Status.NOT_APPLICABLE
    two = run(RankEvidence(0, optimizers=(optimizer(0.1), optimizer(0.1, number=1))))
    assert parameters.equivalence(original, two, Expectation(tolerance=1.0)).failed


# Evaluation


def test_evaluation_is_complete_on_every_rank_or_on_all_together() -> None:
    original = training_run([evaluation_pass([0, 1], [2])])
    whole = [evaluation_pass([0, 1], [2])]
    shared = ([evaluation_pass([0, 2])], [evaluation_pass([1])])
    padded = ([evaluation_pass([0, 2])], [evaluation_pass([1, 0])])
    judge = evaluation.evaluation_complete
    assert judge(original, training_run(whole, whole), GLOBAL).passed
    assert judge(original, training_run(whole, []), GLOBAL).passed
    assert judge(original, training_run(*shared), GLOBAL).passed
    check = judge(original, training_run(*padded), GLOBAL)
    assert check.failed
    assert "in the original 3 samples" in check.detail
    assert judge(original, training_run([], []), GLOBAL).failed
    assert judge(original, training_run(whole * 2, whole), GLOBAL).failed


def test_an_evaluation_that_is_left_early_is_counted() -> None:
    original = training_run([evaluation_pass([0, 1], exhausted=False)])
    other = training_run(*[[evaluation_pass([4, 3], exhausted=False)]] * 2)
    fewer = training_run(*[[evaluation_pass([4], exhausted=False)]] * 3)
    assert evaluation.evaluation_complete(original, other, GLOBAL).passed
    assert evaluation.evaluation_complete(original, fewer, GLOBAL).failed


def test_what_trains_is_told_from_what_does_not() -> None:
    train = training_pass([0, 1], dataset=0)
    attack = evaluation_pass([0], number=1, loader=1)
    glance = evaluation_pass([0], number=2, loader=0, exhausted=False)
    check = evaluation_pass([0, 1], number=3, loader=0)
    rank = RankEvidence(0, iterations=(train, attack, glance, check))
    assert rank.training == (train,)
    assert rank.evaluation == (attack, check)


# Files, output, checkpoints


def writing(*ranks: tuple[Write, ...], left: tuple[str, ...] = ()) -> RunEvidence:
    return run(*(RankEvidence(r, writes=w) for r, w in enumerate(ranks)), files=left)


def test_a_file_is_written_by_one_rank() -> None:
    save = Write("model.pt", Touch.FILE, "save")
    move = Write("model.pt", Touch.FILE, "rename")
    made = Write("out", Touch.DIRECTORY, "mkdir")
    none = writing((), ())
    judge = files.files_written_once
    assert judge(none, writing((save, move), ()), GLOBAL).passed
    assert judge(none, writing((), (save,)), GLOBAL).passed
    check = judge(none, writing((save,), (move,)), GLOBAL)
    assert check.failed
    assert check.detail == "model.pt: by ranks 0, 1"
    assert judge(none, writing((made,), (made,)), GLOBAL).status is Status.NOT_APPLICABLE
    assert files.directories_made_once(none, writing((made,), (made,)), GLOBAL).failed
    assert files.directories_made_once(none, writing((made,), ()), GLOBAL).passed


@pytest.mark.parametrize(
    ("original", "converted", "status"),
    [
        (("a.pt",), ("a.pt",), Status.PASSED),
        (("a.pt",), (), Status.FAILED),
        (("a.pt",), ("a.pt", "b.pt"), Status.FAILED),
        (("run-12/log",), ("run-345/log",), Status.PASSED),
        (("run-12/log",), ("run-345/log", "run-346/log"), Status.FAILED),
        (("best-1.pt", "best-2.pt"), ("best-1.pt",), Status.FAILED),
        ((), (), Status.NOT_APPLICABLE),
    ],
)
def test_the_same_files_are_left(
    original: tuple[str, ...], converted: tuple[str, ...], status: Status
) -> None:
    check = files.same_files(writing((), left=original), writing((), (), left=converted), EXACTLY)
    assert check.status is status


def test_how_many_files_a_script_of_chance_leaves_is_chance() -> None:
    original = writing((), left=("best-1.pt", "best-2.pt"))
    fewer, others = writing((), left=("best-1.pt",)), writing((), left=("last.pt",))
    assert files.same_files(original, fewer, GLOBAL).passed
    assert files.same_files(original, others, GLOBAL).failed


def test_a_file_named_by_time_or_process_is_not_written_by_every_rank() -> None:
    one, two, three = (Write(f"run-{number}/log", Touch.FILE, "open") for number in (1, 2, 3))
    judge = files.files_written_once
    check = judge(writing((one,)), writing((two,), (three,)), GLOBAL)
    assert check.failed
    assert check.detail == "run-2/log, run-3/log: by ranks 0, 1"
    assert judge(writing((one,)), writing((two, three), ()), GLOBAL).passed
    assert judge(writing((one, two)), writing((two,), (three,)), GLOBAL).passed


def printing(*outputs: str) -> RunEvidence:
    return run(*(RankEvidence(rank, output=text) for rank, text in enumerate(outputs)))


@pytest.mark.parametrize(
    ("outputs", "once", "same_counts"),
    [
        (("loss 0.5\nloss 0.25\n", ""), Status.PASSED, Status.PASSED),
        (("loss 0.5\n", "loss 0.25\n"), Status.PASSED, Status.PASSED),
        (("loss 0.5\nloss 0.25\n", "loss 0.6\n"), Status.FAILED, Status.PASSED),
        (("loss 0.5\n", ""), Status.PASSED, Status.FAILED),
        (("loss 1\nloss 2\nready\n", ""), Status.PASSED, Status.FAILED),
        (("loss 1\nloss 2\nrank 0\n", "rank 1\n"), Status.FAILED, Status.FAILED),
        (("", ""), Status.NOT_APPLICABLE, Status.FAILED),
    ],
)
def test_lines_are_printed_once_and_are_the_original_ones(
    outputs: tuple[str, ...], once: Status, same_counts: Status
) -> None:
    original = printing("loss 1.0\nloss 2.0\n")
    assert output.printed_once(original, printing(*outputs), GLOBAL).status is once
    assert output.same_lines(original, printing(*outputs), EXACTLY).status is same_counts


def test_how_often_a_script_of_chance_prints_a_line_is_chance() -> None:
    original = printing("best\nbest\nloss 1\n")
    assert output.same_lines(original, printing("best\nloss 2\n", ""), GLOBAL).passed
    assert output.same_lines(original, printing("loss 2\n", ""), GLOBAL).failed
    written = output.same_lines(original, printing("best of all\nloss 2\n", ""), GLOBAL)
    assert written.passed
    assert written.detail == "1 with another text"
    more = printing("best\nloss 2\nrank\n", "")
    assert output.same_lines(original, more, GLOBAL).failed
    check = output.same_lines(original, printing("best\nloss 2\n", ""), EXACTLY)
    assert check.detail == "printed 1 times, in the original 2: best"


def test_printed_numbers_are_compared_on_request() -> None:
    original = printing("epoch 1: loss 0.1234\n")
    asked = Expectation(tolerance=1e-5, printed_numbers=True)
    judge = output.printed_numbers
    assert judge(original, printing("epoch 1: loss 0.1235\n", ""), asked).passed
    assert judge(original, printing("epoch 1: loss 0.2234\n", ""), asked).failed
    status = judge(original, printing("epoch 2: loss 9\n", ""), GLOBAL).status
    assert status is Status.NOT_APPLICABLE


def test_tracked_numbers_are_those_of_one_process() -> None:
    def tracking(*numbers: tuple[tuple[str, float], ...]) -> RunEvidence:
        return run(*(RankEvidence(rank, tracked=each) for rank, each in enumerate(numbers)))

    original = tracking((("loss", 0.5), ("accuracy", 0.25)))
    asked = Expectation(tolerance=1e-5, printed_numbers=True)
    judge = output.tracked_numbers
    check = judge(original, tracking((("loss", 0.5), ("accuracy", 0.25)), ()), asked)
    assert check.passed and check.detail == "2 of loss, accuracy"
    # Reduced twice, or by nobody at all.
    halved = judge(original, tracking((("loss", 0.25), ("accuracy", 0.25)), ()), asked)
    assert halved.detail == "loss: 0.25, in the original loss: 0.5"
    assert judge(original, tracking((("loss", 0.5),), ()), asked).failed
    both = (("loss", 0.5), ("accuracy", 0.25))
    assert judge(original, tracking(both, both), asked).detail == "2 ranks track"
    assert judge(original, tracking(both, ()), EXACTLY).status is Status.NOT_APPLICABLE
    assert judge(tracking(()), tracking((), ()), asked).status is Status.NOT_APPLICABLE


def test_numbers_in_text() -> None:
    assert mask_numbers("Epoch 1/20, loss: -1.5e-05 at step12 nan") == (
        "Epoch #/#, loss: # at step# #"
    )
    assert numbers("lr=0.10, 5 of 7") == (0.1, 5.0, 7.0)
    assert printed_lines("a\n\n 10%\r 20%\r 30%\n b \r\n") == ("a", " 30%", " b")


def saving(*entries: Checkpoint) -> RunEvidence:
    return run(RankEvidence(0, checkpoints=entries), RankEvidence(1))


def test_checkpoints_have_the_keys_and_shapes_of_the_original() -> None:
    original = run(
        RankEvidence(0, checkpoints=(Checkpoint("m-1.pt", {"w": "float (2,)", "n": "int"}),))
    )
    good = saving(Checkpoint("m-1.pt", {"n": "int", "w": "float (2,)"}))
    prefix = saving(Checkpoint("m-1.pt", {"module.w": "float (2,)", "n": "int"}))
    shape = saving(Checkpoint("m-7.pt", {"w": "float (1,)", "n": "int"}))
    other = saving(Checkpoint("other.pt", {}))
    assert checkpoints.checkpoint_keys(original, good).passed
    assert checkpoints.checkpoint_loads(original, good).passed
    check = checkpoints.checkpoint_keys(original, prefix)
    assert check.failed
    assert check.detail == "m-1.pt: missing: w; not in the original: module.w"
    assert checkpoints.checkpoint_keys(original, shape).passed
    assert checkpoints.checkpoint_loads(original, shape).failed
    assert checkpoints.checkpoint_keys(original, other).status is Status.NOT_APPLICABLE


# Outcome and the whole


def test_a_failure_is_told_by_its_exception() -> None:
    errors = "Traceback\n  File ...\n[rank1]: ValueError: too small\nwarning: exiting\n"
    check = outcome.exit_status(run(RankEvidence(0, exit_status=1, errors=errors)))
    assert check.failed
    assert check.detail == "rank 0: exit status 1: ValueError: too small"
    check = outcome.exit_status(run(RankEvidence(0, exit_status=-6, errors="terminate called")))
    assert check.detail == "rank 0: ended by signal 6: terminate called"


def test_a_killed_rank_is_a_hang_unless_another_one_failed() -> None:
    fine = RankEvidence(0)
    hung = RankEvidence(1, Ending.HUNG, None, place="all_reduce (c10d.py:3)")
    check = outcome.no_hang(run(fine, hung))
    assert check.failed
    assert "in all_reduce (c10d.py:3)" in check.detail
    assert outcome.exit_status(run(fine, hung)).status is Status.NOT_APPLICABLE
    stopped = RankEvidence(1, Ending.STOPPED, None)
    broken = RankEvidence(0, exit_status=1)
    assert outcome.no_hang(run(broken, stopped)).passed
    assert outcome.exit_status(run(broken, stopped)).failed


def test_a_run_that_did_not_finish_is_judged_by_that_alone() -> None:
    original = run(RankEvidence(0))
    hung = run(RankEvidence(0, Ending.HUNG, None))
    names = [check.name for check in judge_distributed(original, hung, GLOBAL)]
    assert names == ["exit status", "no hang"]
    assert [check.name for check in judge_single(original, hung)] == names


def test_what_the_original_does_by_chance_is_no_failure() -> None:
    checks = (failed("a", "x"), failed("b", "x"), passed("c"))
    again = (failed("a", "y"), passed("b"), failed("c", "y"))
    excused = excuse_chance(checks, again)
    assert [check.status for check in excused] == [
        Status.NOT_APPLICABLE,
        Status.FAILED,
        Status.PASSED,
    ]
    assert excused[1:] == (checks[1], Check("c", Status.PASSED))


def test_numbers_need_a_tolerance() -> None:
    with pytest.raises(ValueError, match="tolerance"):
        Expectation(printed_numbers=True)
