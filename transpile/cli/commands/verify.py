"""The command ``disttranspile verify``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transpile.cli.terminal import Waiting, put, tell

if TYPE_CHECKING:
    from transpile.verify import AuditReport

_DEFAULT_TOLERANCE = 1e-5
_NO_FILE = "FileNotFoundError"
_NO_MODULE = "ModuleNotFoundError"
_MISSING = "No module named"
_INSTALL = "The scripts need their framework: pip install 'disttranspile[verify]'"
_SCRIPT = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def _world_sizes(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in value.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise click.BadParameter(f"{value!r} is no list of numbers such as 1,2.")
    return sizes


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 where every check passed, 1 where one failed, 2 on wrong usage.",
)
@click.argument("original", type=_SCRIPT)
@click.argument("converted", type=_SCRIPT)
@click.argument("arguments", nargs=-1, metavar="[-- SCRIPT ARGUMENTS]")
@click.option(
    "--world-sizes",
    callback=_world_sizes,
    default="1,2",
    show_default=True,
    metavar="N,...",
    help="How many processes the converted script runs with.",
)
@click.option(
    "--equivalence",
    is_flag=True,
    help="Final parameters must equal the original's: for scripts without randomness, in float64.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    help=f"Relative difference that --equivalence allows.  [default: {_DEFAULT_TOLERANCE}]",
)
@click.option(
    "--printed-numbers",
    is_flag=True,
    help="Numbers that are printed, or given to a tracker, must be equal, too.",
)
@click.option("--single-precision", is_flag=True, help="Keep float32 with --equivalence.")
@click.option(
    "--batch-size",
    type=click.Choice(["global", "per-device"]),
    default="global",
    show_default=True,
    help="How the script was converted.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="When a run is ended.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    metavar="K",
    help="End every run after K optimizer steps and judge what was seen until then.  [default: run "
    "to the end]",
)
@click.option(
    "--seed-dir",
    type=_FOLDER,
    help="Folder in a copy of which every run starts.  [default: an empty one]",
)
@click.option(
    "-m",
    "--module",
    metavar="PACKAGE.MODULE",
    default="",
    help="Run both as modules of the packages that hold them, as python -m does: the name of "
    "ORIGINAL.",
)
@click.option("--cuda", is_flag=True, help="Let the scripts see CUDA devices.")
@click.option(
    "--share-gpus",
    is_flag=True,
    help="With --cuda: more processes than GPUs share them, over Gloo in place of NCCL.",
)
@click.option(
    "--launched",
    is_flag=True,
    help="World size 1 is a job of one process, which communicates: on one GPU over NCCL.",
)
@click.option(
    "--pretend-cuda",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the device rules of CUDA and NCCL for N GPUs that are not there, on the CPU.",
)
@click.option(
    "--noise",
    is_flag=True,
    help="With --pretend-cuda: results differ from process to process in the last digits.",
)
@click.option(
    "--python",
    metavar="INTERPRETER",
    help="Which Python runs the scripts; it must have their framework.  [default: this one]",
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the verdicts.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Also write a page: verdicts, losses over steps, which samples were seen, and when.",
)
def command(original: Path, converted: Path, arguments: tuple[str, ...], **choices: Any) -> int:
    """Run ORIGINAL and CONVERTED, and compare what they train.

    ORIGINAL runs once, CONVERTED as one process and as several; then parameters, shards, batches,
    files and prints are judged. This runs both scripts: look at them first if they are not yours.
    """
    from transpile.verify import LaunchError, audit, format_report

    packages = _packages(original, converted, choices["module"])
    if choices["cuda"] and choices["pretend_cuda"]:
        raise click.UsageError("--cuda and --pretend-cuda exclude each other.")
    if choices["share_gpus"] and not choices["cuda"]:
        raise click.UsageError("--share-gpus is for --cuda.")
    tolerance = choices["tolerance"]
    if tolerance is None and (choices["equivalence"] or choices["printed_numbers"]):
        tolerance = _DEFAULT_TOLERANCE
    progress = Waiting()
    progress.begin("starting the framework")
    try:
        report = audit(
            original,
            converted,
            world_sizes=choices["world_sizes"],
            arguments=arguments,
            timeout_seconds=choices["timeout"],
            batch_size=choices["batch_size"],
            tolerance=tolerance,
            printed_numbers=choices["printed_numbers"],
            steps=choices["steps"] or 0,
            double=False if choices["single_precision"] else None,
            workdir_seed=choices["seed_dir"],
            packages=packages,
            launched=choices["launched"],
            cuda=choices["cuda"],
            share_gpus=choices["share_gpus"],
            pretend_cuda=choices["pretend_cuda"] or 0,
            noise=choices["noise"],
            python=choices["python"],
            tell=lambda run: progress.begin(f"running: {run.label}", run.progress),
        )
    except LaunchError as error:
        raise click.UsageError(f"{error}. {_INSTALL if _MISSING in str(error) else ''}") from error
    except (OSError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    finally:
        progress.clear()
    page = choices["report"]
    if page is not None:
        from transpile.verify.page import page_of

        _write(page, page_of(report, f"{original} and {converted}"))
    if choices["output_format"] == "json":
        from transpile.verify.data import data_of

        put((json.dumps(data_of(report), indent=2) + "\n").encode())
    else:
        put(format_report(report).encode())
        tell(_hint(report, choices))
    return 0 if report.passed else 1


def _packages(original: Path, converted: Path, module: str) -> int:
    """How many packages hold both scripts, where they run as modules."""
    names = module.split(".") if module else [""]
    for script, told in ((original, names), (converted, names[:-1])):
        found = script.resolve().with_suffix("").parts
        if module and found[len(found) - len(names) :][: len(told)] != tuple(told):
            raise click.BadParameter(
                f"{script} is not the file of {module}.", param_hint="--module"
            )
    return len(names) - 1


def _hint(report: AuditReport, choices: dict[str, Any]) -> str:
    """What may keep the original from running, where it is how it was started."""
    ended = report.runs[0].checks[0]
    if not ended.failed:
        return ""
    if _NO_FILE in ended.detail and choices["seed_dir"] is None:
        return "every run starts in an empty folder; --seed-dir . starts it in a copy of this one\n"
    if _NO_MODULE in ended.detail and not choices["module"]:
        return "--module PACKAGE.MODULE runs the scripts as python -m does\n"
    return ""


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be written: {error.strerror}.") from error
