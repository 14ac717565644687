"""What the rules about effects share: PyTorch's own effects, and the plan for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.changes import Insert
from transpile.edit import Edit
from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.layout import wrap_expression
from transpile.plan.effects import Effect, Vocabulary
from transpile.plan.model import Plan
from transpile.plan.once import find_once
from transpile.plan.treatment import Once, Preparation, Run, Statement, statements_of
from transpile.result import Verdict
from transpile.rule import Change, Helper, In, Rulings
from transpile.rules.pytorch._reported import reported
from transpile.rules.pytorch._setting_up import set_up_of
from transpile.source import Source
from transpile.span import Span

BARRIERS = frozenset({"torch.distributed.barrier", "torch.distributed.monitored_barrier"})

VOCABULARY = Vocabulary(
    writes=frozenset(
        {
            "torch.save", "torch.jit.save", "torch.onnx.export", "torch.export.save",
            "torchvision.utils.save_image", "torchvision.io.write_png",
            "torchvision.io.write_jpeg", "torchvision.io.write_video", "torchaudio.save",
            "safetensors.torch.save_file", "safetensors.torch.save_model",
            "torch.distributed.checkpoint.save",
        }
    ),  # fmt: skip
    reads=frozenset({"torch.load", "torch.jit.load", "torchvision.io.read_image",
                     "safetensors.torch.load_file", "torchaudio.load"}),  # fmt: skip
    saves=frozenset({"torch.save"}),
    loads=frozenset({"torch.load"}),
    paths={
        "torch.save": ("f", 1),
        "torch.jit.save": ("f", 1),
        "torch.onnx.export": ("f", 2),
        "torchvision.utils.save_image": ("fp", 1),
    },
    trackers=frozenset(
        {
            "torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter",
            "tensorboard_logger.Logger", "aim.Run",
        }
    ),  # fmt: skip
    downloads=frozenset(
        {
            "torch.hub.load", "torch.hub.download_url_to_file", "torch.utils.model_zoo.load_url",
            "torch.hub.load_state_dict_from_url", "torchvision.datasets.utils.download_url",
            "torchvision.datasets.utils.download_and_extract_archive",
            "torchvision.datasets.utils.download_file_from_google_drive",
            "torchvision.datasets.utils.extract_archive", "torchtext.utils.download_from_url",
        }
    ),  # fmt: skip
    download_flags=(
        ("torchvision.datasets.", ("download",)),
        ("torchaudio.datasets.", ("download",)),
        ("torchvision.models.", ("pretrained", "weights", "weights_backbone")),
        ("torchvision.prototype.models.", ("weights",)),
        ("timm.", ("pretrained",)),
        ("segmentation_models_pytorch.", ("encoder_weights",)),
    ),
    pure=(
        "torch.", "torchvision.utils.make_grid", "torchvision.transforms.", "torchmetrics.",
        "torchvision.ops.",
    ),  # fmt: skip
    impure=(
        "torch.rand", "torch.normal", "torch.bernoulli", "torch.multinomial", "torch.poisson",
        "torch.nn.Dropout", "torch.nn.functional.dropout", "torch.nn.init.", "torch.distributed.",
        "torch.manual_seed", "torch.seed", "torch.set_", "torch.cuda.set_", "torch.load",
        "torch.save", "torch.hub.", "torch.jit.", "torch.onnx.", "torch.utils.data.",
        "torch.nn.Linear", "torch.nn.Conv", "torch.autograd.backward", "torch.autograd.grad",
        "torch.optim.", "torch.multiprocessing.", "torch.cuda.manual_seed", "torch.random.",
        "torch.cuda.random.", "torch.nn.Sequential", "torch.nn.Embedding", "torch.nn.RNN",
        "torch.nn.LSTM", "torch.nn.GRU", "torch.nn.Transformer", "torch.compile",
        "torch.profiler.", "torch.backends.", "torch.use_deterministic_algorithms",
        "torchvision.transforms.Random", "torchvision.transforms.functional.random",
    ),  # fmt: skip
)


def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    if "once" not in plan.memo:
        set_up = set_up_of(plan)
        joined = set_up.order if set_up is not None else 0
        together = reported(plan, VOCABULARY).together()
        plan.memo["once"] = find_once(plan, VOCABULARY, BARRIERS, joined, together)
    found: Once = plan.memo["once"]
    return found


def main_process(plan: Plan, module: Module) -> str:
    """The call that tells whether this process is the one that has effects."""
    return f"{plan.names_in(module).fresh('is_main_process')}()"


def argument_of(effect: Effect, keywords: tuple[str, ...], position: int) -> cst.Arg | None:
    """The argument of a call as it is written; None where it is absent or unpacked."""
    for argument in effect.node.args:
        if argument.keyword is not None and argument.keyword.value in keywords:
            return argument
    for index, argument in enumerate(effect.node.args):
        if argument.star or argument.keyword is not None:
            return None
        if index == position:
            return argument
    return None


def only_here(plan: Plan, module: Module, node: cst.BaseExpression, other: str) -> Iterator[Change]:
    """Make an expression that of the main process, and `other` on all others.

    The expression stays where it is, so that edits inside it still apply.
    """
    yield Helper("is_main_process", module)
    before, after = ("", "")
    if isinstance(node, (cst.IfExp, cst.Lambda, cst.NamedExpr)) and not node.lpar:
        before, after = "(", ")"
    elsewhere = f" if {main_process(plan, module)} else {other}"
    if binds_tighter(module, node):
        before, elsewhere = f"({before}", f"{elsewhere})"
    for edit in surround(module, node, before, after + elsewhere):
        yield In(module, edit)


def binds_tighter(module: Module, node: cst.CSTNode) -> bool:
    """Whether a conditional expression in the place of `node` would need parentheses."""
    if getattr(node, "lpar", ()):
        return False
    parent = module.source.parent(node)
    return isinstance(
        parent,
        (cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.BooleanOperation, cst.Comparison,
         cst.ComparisonTarget, cst.UnaryOperation, cst.IfExp, cst.Call, cst.Await),
    )  # fmt: skip


def surround(
    module: Module, node: cst.BaseExpression, before: str, after: str, order: int = 0
) -> tuple[Edit, ...]:
    """Put text on both sides of an expression, either of which may be empty."""
    if before:
        return wrap_expression(module.source, node, before, after, order)
    span = module.source.span(node)
    return (Insert(span.end, after, order, "close", Span(span.start, span.end)),)


def agreed_on(rulings: Rulings) -> list[cst.CSTNode]:
    """The expressions that all processes will evaluate together."""
    return [
        ruling.data.node
        for rule in ("agree-on-decisions", "agree-on-order", "agree-on-splits")
        for ruling in rulings.of(rule, Verdict.APPLY)
        if getattr(ruling.data, "way", "") != "sorted"
    ]


def parts(
    place: Run | Preparation, statements: list[Statement], together: list[cst.CSTNode]
) -> Iterator[list[Statement]]:
    """The statements in groups that hold nothing that all processes evaluate together.

    A small statement that does stands alone if it is a call, whose arguments can be bound first.
    """
    source = place.module.source
    part: list[Statement] = []
    for statement in statements:
        if not any(holds(source, statement, node) for node in together):
            part.append(statement)
            continue
        if part:
            yield part
            part = []
        if isinstance(statement, cst.Expr) and isinstance(place, Run):
            yield [statement]
        for block in blocks_of(statement):
            yield from parts(place, statements_of(block), together)
    if part:
        yield part


def holds(source: Source, statement: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a node of the script is part of a statement."""
    return source.has(node) and statement in source.parents(node)


def blocks_of(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The blocks of a compound statement, those of its ``elif`` and ``else``, too."""
    for child in children(statement):
        if isinstance(child, (cst.IndentedBlock, cst.SimpleStatementSuite)):
            yield child
        elif isinstance(child, (cst.Else, cst.If, cst.ExceptHandler, cst.Finally)):
            yield from blocks_of(child)
