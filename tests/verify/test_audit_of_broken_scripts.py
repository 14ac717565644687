"""Scripts that are broken on purpose: the audit must name what is wrong, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from transpile.verify import Auditor, AuditReport, RunReport, format_report

SCRIPTS = Path(__file__).parent / "scripts"

Edit = tuple[str, str]


@dataclass(frozen=True)
class Variant:
    """A variant of a good pair of scripts.

    Args:
        name: what is special about it.
        converted: texts of the converted script, each there once, and what they become.
        original: the same for the original.
        fails: names of the checks that must fail at two processes.
        fails_alone: names of the checks that must fail at one process.
        pair: which good pair it is made from.
    """

    name: str
    converted: tuple[Edit, ...] = ()
    original: tuple[Edit, ...] = ()
    fails: frozenset[str] = frozenset()
    fails_alone: frozenset[str] = frozenset()
    pair: str = "shuffled"


def names(*given: str) -> frozenset[str]:
    return frozenset(given)


SPLIT = "torch.utils.data.random_split(TensorDataset(features, labels), [36, 12], generator=g)"
HEAD = (
    (
        "criterion = nn.CrossEntropyLoss()\n",
        "criterion = nn.CrossEntropyLoss()\n"
        "head = nn.Linear(2, 2)\n"
        "head_optimizer = torch.optim.Adam(head.parameters(), lr=0.1)\n",
    ),
    ("criterion(model(inputs), targets)", "criterion(head(model(inputs)), targets)"),
    ("        optimizer.step()\n", "        optimizer.step()\n        head_optimizer.step()\n"),
    (
        "        optimizer.zero_grad()\n",
        "        optimizer.zero_grad()\n        head.zero_grad()\n",
    ),
)
WRAP = "    model = DistributedDataParallel(model)\n"
SAMPLER = "DistributedSampler(train_set, shuffle=True) if world_size > 1 else None"
LOG = 'if rank == 0:\n    with open("log.txt"'

GOOD = (
    Variant("shuffled"),
    Variant("deterministic", pair="deterministic"),
    Variant(
        "drop_last on sampler and loader",
        original=(("(48, 4", "(47, 4"), ("shuffle=True)", "shuffle=True, drop_last=True)")),
        converted=(
            ("(48, 4", "(47, 4"),
            ("shuffle=True)", "shuffle=True, drop_last=True)"),
            ("sampler=train_sampler,", "sampler=train_sampler, drop_last=True,"),
        ),
    ),
    Variant("padded shards", original=(("(48, 4", "(47, 4"),), converted=(("(48, 4", "(47, 4"),)),
    Variant(
        "evaluation on rank 0 alone",
        converted=(
            ("in test_loader:", "in test_loader if rank == 0 else ():"),
            ("batch_size=4)", "batch_size=4, num_workers=2, persistent_workers=True)"),
        ),
    ),
    Variant(
        "evaluation sharded without padding",
        converted=(
            ("DataLoader(test_set, batch_size=4)", "DataLoader(share, batch_size=4)"),
            (
                "test_loader =",
                "share = torch.utils.data.Subset(test_set, range(rank, 11, world_size))\n"
                "test_loader =",
            ),
        ),
    ),
    Variant(
        "several workers",
        original=(("shuffle=True)", "shuffle=True, num_workers=2)"),),
        converted=(("sampler=train_sampler,", "sampler=train_sampler, num_workers=2,"),),
    ),
    Variant(
        "a step in a closure and a glance at the data",
        original=(
            ("        optimizer.step()\n", "        optimizer.step(lambda: loss)\n"),
            ("os.makedirs(", "next(iter(train_loader))\nos.makedirs("),
        ),
        converted=(
            ("        optimizer.step()\n", "        optimizer.step(lambda: loss)\n"),
            ("if rank == 0:\n    os", "next(iter(train_loader))\nif rank == 0:\n    os"),
        ),
    ),
    Variant(
        "two optimizers",
        original=HEAD,
        converted=(
            *HEAD,
            (
                "scheduler = torch",
                "if world_size > 1:\n    head = DistributedDataParallel(head)\nscheduler = torch",
            ),
        ),
    ),
)

BROKEN = (
    Variant(
        "no set_epoch",
        ((".set_epoch(epoch)", ".set_epoch(0)"),),
        fails=names("order changes with the epoch"),
    ),
    Variant(
        "no sampler",
        ((SAMPLER, "None"),),
        fails=names("training shards disjoint", "optimizer steps"),
    ),
    Variant(
        "a shard left out",
        ((SAMPLER, SAMPLER.replace("train_set", "range(24)")),),
        fails=names("training shards complete", "optimizer steps"),
    ),
    Variant(
        "save on all ranks",
        (("if rank == 0:\n        torch.save", "if True:\n        torch.save"),),
        fails=names("files written once"),
    ),
    Variant(
        "append on all ranks",
        ((LOG, LOG.replace("rank == 0", "True")),),
        fails=names("files written once"),
    ),
    Variant(
        "directory made on all ranks",
        (("if rank == 0:\n    os", "if True:\n    os"),),
        fails=names("directories made once"),
    ),
    Variant(
        "a file for every rank",
        ((LOG, 'if True:\n    with open(f"log-{rank}.txt"'),),
        fails=names("same files as the original"),
        fails_alone=names("same files as the original"),
    ),
    Variant(
        "a file forgotten",
        ((LOG, LOG.replace("0", "5")),),
        fails=names("same files as the original"),
        fails_alone=names("same files as the original"),
    ),
    Variant(
        "print on all ranks",
        (("if rank == 0:\n        print", "if True:\n        print"),),
        fails=names("printed once"),
    ),
    Variant(
        "print on no rank",
        (("if rank == 0:\n        print", "if rank == 5:\n        print"),),
        fails=names("same lines as the original"),
        fails_alone=names("single process equals original"),
    ),
    Variant(
        "model not wrapped",
        ((WRAP, "    pass\n"),),
        fails=names("parameters equal on all ranks"),
    ),
    Variant(
        "another optimizer's model not wrapped",
        HEAD,
        HEAD,
        fails=names("parameters equal on all ranks"),
    ),
    Variant(
        "batch not divided",
        (("BATCH_SIZE // world_size", "BATCH_SIZE"),),
        fails=names("global batch", "optimizer steps"),
    ),
    Variant(
        "batch divided twice",
        (("BATCH_SIZE // world_size", "BATCH_SIZE // world_size // world_size"),),
        fails=names("global batch", "optimizer steps"),
    ),
    Variant(
        "drop_last on the loader alone",
        original=(("(48, 4", "(47, 4"), ("shuffle=True)", "shuffle=True, drop_last=True)")),
        converted=(
            ("(48, 4", "(47, 4"),
            ("sampler=train_sampler,", "sampler=train_sampler, drop_last=True,"),
        ),
        fails=names("optimizer steps"),
    ),
    Variant(
        "evaluation sharded with padding",
        (
            ("DataLoader(test_set, batch_size=4)", "DataLoader(test_set, 4, sampler=share)"),
            (
                "test_loader =",
                "share = DistributedSampler(test_set, world_size, rank, shuffle=False)\n"
                "test_loader =",
            ),
        ),
        fails=names("evaluation complete"),
    ),
    Variant(
        "evaluation cut short",
        (("batch_size=4)", "batch_size=4, drop_last=world_size > 1)"),),
        fails=names("evaluation complete"),
    ),
    Variant(
        "checkpoint with the wrapper's prefix",
        (('"model": plain_model', '"model": model'),),
        fails=names("checkpoint keys"),
    ),
    Variant(
        "checkpoint of another shape",
        (
            (
                "plain_model.state_dict()",
                "{key: value[:1] for key, value in plain_model.state_dict().items()}",
            ),
        ),
        fails=names("checkpoint loads in the original model"),
        fails_alone=names("checkpoint loads in the original model"),
    ),
    Variant(
        "an exception on rank 1",
        (("    scheduler.step()", "    assert rank != 1, 'no luck'\n    scheduler.step()"),),
        fails=names("exit status"),
    ),
    Variant(
        "an exit status on rank 1",
        (("    dist.destroy", "    raise SystemExit(7 * rank)\n    dist.destroy"),),
        fails=names("exit status"),
    ),
    Variant(
        "another learning rate",
        (("lr=0.1,", "lr=0.1 * world_size,"),),
        fails=names("learning rates"),
    ),
    Variant(
        "another schedule",
        (("gamma=0.5", "gamma=0.5 / world_size"),),
        fails=names("learning rates"),
    ),
    Variant(
        "more optimizer steps",
        (("    scheduler.step()", "    optimizer.step()\n    scheduler.step()"),),
        fails=names("optimizer steps"),
        fails_alone=names("single process equals original"),
    ),
    Variant(
        "splits that the ranks do not agree on",
        original=(
            (
                "train_set = TensorDataset(features, labels)",
                f"g = torch.Generator().manual_seed(0)\ntrain_set, _ = {SPLIT}",
            ),
        ),
        converted=(
            (
                "train_set = TensorDataset(features, labels)",
                f"g = torch.Generator().manual_seed(rank)\ntrain_set, _ = {SPLIT}",
            ),
        ),
        fails=names("training shards disjoint", "training shards complete"),
    ),
    Variant(
        "a sampler without several processes",
        ((SAMPLER, "DistributedSampler(train_set, world_size, rank)"),),
        fails_alone=names("single process equals original"),
    ),
    Variant(
        "summed loss not rescaled",
        ((" * world_size\n", "\n"),),
        fails=names("equivalence"),
        pair="deterministic",
    ),
    Variant(
        "shuffled though the original is not",
        (("shuffle=False", "shuffle=True"),),
        fails=names("order changes with the epoch", "equivalence"),
        pair="deterministic",
    ),
)


def edited(name: str, edits: Sequence[Edit]) -> str:
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
        text = text.replace(old, new)
    return text


def audited(
    auditor: Auditor, variant: Variant, folder: Path, *, timeout_seconds: float = 60
) -> AuditReport:
    original, converted = folder / "train.py", folder / "train_dist.py"
    original.write_text(edited(f"{variant.pair}.py", variant.original), encoding="utf-8")
    converted.write_text(
        edited(f"{variant.pair}_distributed.py", variant.converted), encoding="utf-8"
    )
    return auditor.audit(
        original,
        converted,
        world_sizes=(2,) if variant.fails and not variant.fails_alone else (1, 2),
        tolerance=1e-5 if variant.pair == "deterministic" else None,
        timeout_seconds=timeout_seconds,
    )


def failures(run: RunReport) -> frozenset[str]:
    return frozenset(check.name for check in run.checks if check.failed)


@pytest.mark.parametrize("variant", GOOD, ids=lambda variant: variant.name)
def test_a_good_script_passes(variant: Variant, auditor: Auditor, tmp_path: Path) -> None:
    report = audited(auditor, variant, tmp_path)
    assert report.passed, format_report(report)
    assert report.failed_names == ()


@pytest.mark.parametrize("variant", BROKEN, ids=lambda variant: variant.name)
def test_a_broken_script_fails_by_name(variant: Variant, auditor: Auditor, tmp_path: Path) -> None:
    report = audited(auditor, variant, tmp_path)
    assert report.run(0).passed, format_report(report)
    if variant.fails_alone:
        assert failures(report.run(1)) == variant.fails_alone, format_report(report)
    assert failures(report.run(2)) == variant.fails, format_report(report)
    assert not report.passed


def test_a_collective_on_one_rank_is_a_hang(auditor: Auditor, tmp_path: Path) -> None:
    variant = Variant(
        "a collective on rank 0",
        (
            (
                "    dist.barrier()\n",
                "    if rank == 0:\n        dist.all_reduce(model.module[0].bias.data)\n"
                "    dist.barrier()\n",
            ),
        ),
    )
    report = audited(auditor, variant, tmp_path, timeout_seconds=3)
    run = report.run(2)
    assert failures(run) == {"no hang"}, format_report(report)
    line = 1 + (tmp_path / "train_dist.py").read_text().split("\n").index(
        "        dist.all_reduce(model.module[0].bias.data)"
    )
    assert f"from train_dist.py:{line}" in run.check("no hang").detail
