"""The command ``disttranspile FILE...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from transpile import __version__
from transpile.cli.choices import (
    choice_of,
    framework_version,
    launch_targets,
    mode_of,
    options_of,
    python_version,
)
from transpile.cli.conversion import run
from transpile.cli.framework_option import FrameworkOption, check_choice, framework_names
from transpile.cli.inputs import Input
from transpile.cli.interrupted import undo_interrupted
from transpile.cli.job import Job, Mode
from transpile.cli.kept import Kept
from transpile.cli.launching.command_line import SCRIPT_ARGUMENTS, WORDS, LaunchingCommand
from transpile.cli.project.configured import Configured
from transpile.cli.project.options import complete_files, findings_options
from transpile.cli.targets import TargetError, is_folder
from transpile.cli.tasks import targets_of
from transpile.options import (
    Backend,
    Batches,
    BatchSize,
    Communication,
    Compression,
    DistOption,
    Evaluation,
    HelperPlace,
    KVStore,
    Leave,
    Options,
    PaddleInterface,
    ScaleLearningRate,
    Shard,
    SingaStart,
    Strategy,
    SyncBatchNorm,
)
from transpile.report import FORMATS

if TYPE_CHECKING:
    from transpile.cli.launching.launch_request import LaunchRequest

_DEFAULTS = Options()
_EPILOG = """\b
Other commands (a file of such a name is ./verify):
  disttranspile config [FILE...]              what is configured for a script, and where
  disttranspile audit FILE...                 what may hang or diverge in a distributed script
  disttranspile explain CODE|RULE             what a finding or a rule is about
  disttranspile launch SCRIPT --target TARGET write what starts a converted script
  disttranspile lsp                           a language server for editors
  disttranspile rules [--format json]         every rule with the codes of its findings
  disttranspile sync                          keep configured outputs up to date
  disttranspile verify ORIGINAL CONVERTED     run both and compare what they train

\b
Exit status:
  0  done, or nothing to do
  1  --check or --diff would change something, or there is a warning
  2  wrong usage, an input that cannot be read or parsed, an output that cannot be written
  3  refused: nothing is written, the findings say why
"""


@click.command(
    cls=LaunchingCommand,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_files)
@click.option("-o", "--output", metavar="FILE|DIR/", help="Write there. A folder ends in a slash.")
@click.option("--in-place", is_flag=True, help="Overwrite the input.")
@click.option("--diff", is_flag=True, help="Print what would change, and what could not be.")
@click.option(
    "--annotate/--no-annotate",
    default=None,
    help="With --diff: say which rules ask for each hunk.",
)
@click.option("--check", is_flag=True, help="Write nothing; the exit status tells.")
@click.option("--plan", is_flag=True, help="Print what the script is made of, as JSON.")
@click.option(
    "--allow-partial/--no-allow-partial",
    default=False,
    help="Convert the rest in spite of errors.",
)
@click.option("--force", is_flag=True, help="Overwrite an output that holds something else.")
@click.option(
    "--framework",
    type=click.Choice(framework_names()),
    default=_DEFAULTS.framework,
    show_default=True,
    help="What the script trains with.",
)
@click.option(
    "--batch-size",
    type=choice_of(BatchSize),
    default=_DEFAULTS.batch_size,
    show_default=True,
    help="Whether the script's batch size is that of all processes together or of each.",
)
@click.option(
    "--scale-lr",
    type=choice_of(ScaleLearningRate),
    default=_DEFAULTS.scale_lr,
    show_default=True,
    help="How the learning rate follows the larger global batch; needs --batch-size per-device.",
)
@click.option(
    "--shard",
    cls=FrameworkOption,
    frameworks=("pytorch", "paddle", "mxnet"),
    type=choice_of(Shard),
    default=_DEFAULTS.shard,
    show_default=True,
    help="What ranks shard: batches, or calls of models on whole batches; auto chooses.",
)
@click.option(
    "--batches",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    type=choice_of(Batches),
    default=_DEFAULTS.batches,
    show_default=True,
    help="With shared calls: every rank draws the batches, or rank 0 draws and broadcasts them.",
)
@click.option(
    "--eval",
    "evaluation",
    type=choice_of(Evaluation),
    default=_DEFAULTS.evaluation,
    show_default=True,
    help="Evaluate everything on every process, or a share on each.",
)
@click.option(
    "--backend",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    type=choice_of(Backend),
    default=_DEFAULTS.backend,
    show_default=True,
    help="How processes communicate; auto goes by where the models are.",
)
@click.option(
    "--script-args/--no-script-args",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    default=False,
    help="Give the script the options --backend, --init-method, --rank and --world-size.",
)
@click.option(
    "--timeout",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    type=click.IntRange(min=1),
    metavar="MINUTES",
    help="How long a process waits for the others.",
)
@click.option(
    "--sync-bn",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    type=choice_of(SyncBatchNorm),
    default=_DEFAULTS.sync_batch_norm,
    show_default=True,
    help="Whether batch norm takes its statistics over all processes.",
)
@click.option(
    "--strategy",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    type=choice_of(Strategy),
    default=_DEFAULTS.strategy,
    show_default=True,
    help="Whether each process has the whole model, or a part of each parameter.",
)
@click.option(
    "--paddle-api",
    cls=FrameworkOption,
    frameworks=("paddle",),
    type=choice_of(PaddleInterface),
    default=_DEFAULTS.paddle_api,
    show_default=True,
    help="Whether Paddle's processes join by paddle.distributed or by its fleet.",
)
@click.option(
    "--kvstore",
    cls=FrameworkOption,
    frameworks=("mxnet",),
    type=choice_of(KVStore),
    default=_DEFAULTS.kvstore,
    show_default=True,
    help="The kind of the store that the workers share.",
)
@click.option(
    "--compression",
    cls=FrameworkOption,
    frameworks=("mxnet", "pytorch"),
    only={
        "2bit": ("mxnet",),
        "fp16": ("pytorch",),
        "bf16": ("pytorch",),
        "powersgd": ("pytorch",),
    },
    type=choice_of(Compression),
    default=_DEFAULTS.compression,
    show_default=True,
    help="How gradients are compressed on their way; 2bit for MXNet, the others for PyTorch.",
)
@click.option(
    "--mode",
    cls=FrameworkOption,
    frameworks=("fluid", "paddle"),
    type=choice_of(Communication),
    default=_DEFAULTS.mode,
    show_default=True,
    help="How gradients are shared; auto is pserver for Fluid and collective for Paddle.",
)
@click.option(
    "--sync-mode/--async-mode",
    "synchronous",
    cls=FrameworkOption,
    frameworks=("fluid",),
    default=not _DEFAULTS.async_mode,
    show_default=True,
    help="Whether trainers wait for each other at every step.",
)
@click.option(
    "--slice-var-up/--no-slice-var-up",
    cls=FrameworkOption,
    frameworks=("fluid",),
    default=_DEFAULTS.slice_var_up,
    show_default=True,
    help="Whether large variables are cut into slices for several parameter servers.",
)
@click.option(
    "--split-method",
    cls=FrameworkOption,
    frameworks=("fluid",),
    metavar="CLASS",
    default=_DEFAULTS.split_method,
    show_default=True,
    help="Which parameter server a variable goes to: RoundRobin, HashName, or your own class.",
)
@click.option(
    "--distributed-embedding/--no-distributed-embedding",
    cls=FrameworkOption,
    frameworks=("fluid",),
    default=False,
    help="Keep the large embedding table on the parameter servers.",
)
@click.option(
    "--singa-start",
    cls=FrameworkOption,
    frameworks=("singa",),
    type=choice_of(SingaStart),
    default=_DEFAULTS.singa_start,
    show_default=True,
    help="Whether mpiexec starts SINGA's processes, or the script itself on one machine.",
)
@click.option(
    "--dist-option",
    cls=FrameworkOption,
    frameworks=("singa",),
    type=choice_of(DistOption),
    default=_DEFAULTS.dist_option,
    show_default=True,
    help="How SINGA's gradients travel; plain is fp32, and half is fp16.",
)
@click.option(
    "--spars",
    cls=FrameworkOption,
    frameworks=("singa",),
    type=float,
    metavar="NUMBER",
    default=_DEFAULTS.spars,
    show_default=True,
    help="With sparseTopK, the fraction that is sent; with sparseThreshold, the least value.",
)
@click.option(
    "--explain-numbers",
    cls=FrameworkOption,
    frameworks=("pytorch", "tensorflow"),
    type=click.IntRange(min=1),
    metavar="N",
    help="Say what batches, steps, schedules and rates become for N processes.",
)
@click.option(
    "--helpers",
    type=choice_of(HelperPlace),
    default=_DEFAULTS.helpers,
    show_default=True,
    help="Put what the output calls into distributed_utils.py beside it, or into the script; auto "
    "is inline for a single file and standard output.",
)
@click.option(
    "--leave",
    cls=FrameworkOption,
    frameworks=("pytorch",),
    type=choice_of(Leave),
    default=_DEFAULTS.leave,
    show_default=True,
    help="A library that distributes the script, and whose calls become PyTorch's own.",
)
@click.option(
    "--launch",
    multiple=True,
    callback=launch_targets,
    metavar="TARGET",
    help="Write what starts the output on TARGET beside it; may be repeated. With it go the "
    "options of `disttranspile launch`, and after -- the script's arguments.",
)
@click.option(
    "--target-python",
    callback=python_version,
    metavar="3.N",
    default=".".join(map(str, _DEFAULTS.target_python)),
    show_default=True,
    help="The oldest Python that the converted script shall run on.",
)
@click.option(
    "--target-version",
    callback=framework_version,
    metavar="N.N",
    help="The oldest version of the framework that the converted script shall run on; by default "
    "the oldest that has what it uses.",
)
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    help="Form of the findings; markdown is a page for a reviewer. Others than text go to standard "
    "output where it is free.  [default: text]",
)
@findings_options
@click.version_option(__version__, prog_name="disttranspile")
@click.pass_context
def command(context: click.Context, /, **choices: Any) -> int:
    """Rewrite single-process training scripts into distributed ones.

    The converted script goes to standard output, or where -o says; findings go to standard error.
    FILE is a script, - is standard input. It may be a folder, which is searched for scripts that
    train, with --check, --diff, --in-place or -o DIR/. Modules of the project that a script imports
    are converted with it.
    """
    scripts = [Input(path) for path in choices["files"]]
    mode, output = mode_of(choices, scripts)
    if choices["annotate"] and mode is not Mode.DIFF:
        raise click.UsageError("--annotate needs --diff.")
    launch = _launch(context, choices["launch"], mode)
    check_choice(context)
    try:
        options_of(choices)
        targets = targets_of(scripts, mode, output)
    except (ValueError, TargetError) as error:
        raise click.UsageError(f"{error}.") from error
    if mode is Mode.IN_PLACE:
        undo_interrupted(scripts)
    configured = Configured(context, context.meta[WORDS])
    tasks = configured.tasks(scripts, targets, mode)
    job = Job(
        tasks=tasks,
        mode=mode,
        new_folder=output if mode is Mode.WRITE and is_folder(output) else "",
        force=choices["force"],
        output_format=configured.of_run("output-format", scripts),
        accepted=configured.accepted(scripts),
        quiet=configured.of_run("quiet", scripts),
        annotate=configured.of_run("annotate", scripts),
        jobs=configured.of_run("jobs", scripts),
        kept=configured.kept(scripts) if mode is Mode.CHECK else Kept(),
        launch=launch,
    )
    return run(job)


def _launch(context: click.Context, names: tuple[str, ...], mode: Mode) -> LaunchRequest | None:
    if not names:
        return None
    if mode not in (Mode.WRITE, Mode.IN_PLACE):
        raise click.UsageError("--launch writes files beside an output: it needs -o or --in-place.")
    from transpile.cli.launching.launch_request import LaunchRequest

    return LaunchRequest(context, names, context.meta[SCRIPT_ARGUMENTS])
