"""``python -m transpile.verify ORIGINAL CONVERTED [options] [-- script arguments]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from transpile.verify import LaunchError, audit, format_report

DEFAULT_TOLERANCE = 1e-5


def main(arguments: Sequence[str]) -> int:
    """Audit as the command line asks; gives 0 where it passed, 1 where not, 2 on wrong usage."""
    own, script_arguments = _split(arguments)
    options = _parser().parse_args(own)
    tolerance = options.tolerance
    if tolerance is None and (options.equivalence or options.printed_numbers):
        tolerance = DEFAULT_TOLERANCE
    try:
        report = audit(
            options.original,
            options.converted,
            world_sizes=options.world_sizes,
            arguments=script_arguments,
            timeout_seconds=options.timeout,
            batch_size=options.batch_size,
            tolerance=tolerance,
            printed_numbers=options.printed_numbers,
            length_may_differ=options.length_may_differ,
            double=False if options.single_precision else None,
            workdir_seed=options.seed_dir,
            start_folder=options.start_folder,
            python=options.python,
            site=options.site,
            cuda=options.cuda,
            share_gpus=options.share_gpus,
            launched=options.launched,
            pretend_cuda=options.pretend_cuda,
            noise=options.noise,
        )
    except (LaunchError, OSError, ValueError) as error:
        sys.stderr.write(f"verify: {error}\n")
        return 2
    sys.stdout.write(format_report(report))
    return 0 if report.passed else 1


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    given = list(arguments)
    if "--" not in given:
        return given, []
    position = given.index("--")
    return given[:position], given[position + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m transpile.verify",
        description="Run a script and its converted form, and judge the conversion. "
        "Arguments after -- are given to both scripts.",
    )
    parser.add_argument("original", type=Path)
    parser.add_argument("converted", type=Path)
    parser.add_argument("--world-sizes", type=_sizes, default=(1, 2), metavar="1,2")
    parser.add_argument(
        "--equivalence",
        action="store_true",
        help="the final parameters must equal the original's (deterministic scripts; float64)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        help=f"relative difference that --equivalence allows [{DEFAULT_TOLERANCE}]",
    )
    parser.add_argument(
        "--printed-numbers", action="store_true", help="numbers that are printed must be equal, too"
    )
    parser.add_argument(
        "--single-precision", action="store_true", help="keep float32 with --equivalence"
    )
    parser.add_argument(
        "--length-may-differ",
        action="store_true",
        help="the script decides by what it computes how long it trains (early stopping)",
    )
    parser.add_argument("--batch-size", choices=("global", "per-device"), default="global")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS")
    parser.add_argument("--seed-dir", type=Path, help="folder whose content every run starts with")
    parser.add_argument("--start-folder", default=".", help="where in --seed-dir to start")
    parser.add_argument("--site", type=Path, help="folder that comes first on the import path")
    parser.add_argument("--python", help="interpreter that has the framework")
    parser.add_argument("--cuda", action="store_true", help="leave CUDA devices visible")
    parser.add_argument(
        "--share-gpus",
        action="store_true",
        help="more processes than GPUs share them, over Gloo in place of NCCL",
    )
    parser.add_argument(
        "--launched", action="store_true", help="world size 1 is a job of one process"
    )
    parser.add_argument(
        "--pretend-cuda",
        type=int,
        default=0,
        metavar="N",
        help="keep CUDA's and NCCL's device rules for N GPUs that are not there",
    )
    parser.add_argument(
        "--noise", action="store_true", help="let pretended GPUs differ in the last digits"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
