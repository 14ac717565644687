"""Which expressions only read: evaluating them on one rank alone changes nothing anywhere."""

from __future__ import annotations

from collections.abc import Callable, Set

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Partial,
    Sequence,
    Unknown,
    Value,
)
from transpile.facts.walk import children
from transpile.plan.effects.effect_names import FLUSHES
from transpile.plan.effects.effects import Vocabulary
from transpile.plan.graph import is_instance_of, origins
from transpile.plan.model import Plan

PURE = (
    "math.", "cmath.", "operator.", "os.path.", "posixpath.", "ntpath.", "time.", "datetime.",
    "json.dumps", "json.loads", "copy.copy", "copy.deepcopy", "itertools.", "collections.",
    "dataclasses.", "functools.", "string.", "re.", "numpy.", "platform.", "socket.gethostname",
    "pathlib.", "statistics.", "textwrap.", "pprint.pformat", "inspect.", "os.getcwd",
    "os.getpid", "os.environ.", "os.getenv", "os.listdir", "os.stat", "os.sep", "os.fspath",
    "glob.", "sys.getsizeof", "types.", "fractions.", "decimal.", "base64.", "hashlib.",
    "pickle.dumps", "yaml.dump", "pandas.DataFrame", "pandas.Series", "pandas.concat",
    "PIL.Image.fromarray", "csv.writer", "csv.DictWriter", "tabulate.tabulate", "humanize.",
    "logging.getLogger", "shutil.get_terminal_size", "getpass.getuser", "psutil.", "resource.",
    "calendar.", "locale.", "enum.", "numbers.", "sklearn.metrics.", "prettytable.",
)  # fmt: skip
NOT_PURE = (
    "numpy.random.", "numpy.save", "numpy.memmap", "time.sleep", "itertools.tee",
    "functools.reduce",
)  # fmt: skip
IMPURE_BUILTINS = frozenset(
    {
        "next", "iter", "input", "print", "open", "exec", "eval", "compile", "setattr",
        "delattr", "__import__", "breakpoint", "exit", "quit", "aiter", "anext",
    }
)  # fmt: skip
#: Methods that look at an object and leave it as it is.
READ_METHODS = frozenset(
    {
        # tensors and arrays
        "item", "cpu", "cuda", "to", "detach", "numpy", "tolist", "clone", "float", "double",
        "half", "long", "int", "bool", "byte", "short", "mean", "sum", "std", "var", "min", "max",
        "argmax", "argmin", "argsort", "norm", "abs", "sqrt", "exp", "log", "log2", "log10",
        "sigmoid", "tanh", "softmax", "relu", "view", "view_as", "reshape", "size", "dim",
        "numel", "nelement", "unsqueeze", "squeeze", "permute", "transpose", "t", "contiguous",
        "flatten", "ravel", "expand", "expand_as", "repeat", "eq", "ne", "lt", "gt", "le", "ge",
        "any", "all", "topk", "sort", "unbind", "chunk", "add", "sub", "mul", "div", "pow",
        "clamp", "clip", "round", "floor", "ceil", "type", "type_as", "astype", "gather",
        "index_select", "narrow", "select", "prod", "cumsum", "median", "quantile", "unique",
        "nonzero", "isnan", "isinf", "isfinite", "matmul", "dot", "mm", "element_size",
        "data_ptr", "get_device", "is_contiguous", "swapaxes", "nanmean", "histogram", "conj",
        # strings and numbers
        "format", "join", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "lower",
        "upper", "title", "capitalize", "startswith", "endswith", "zfill", "ljust", "rjust",
        "center", "encode", "decode", "count", "index", "find", "rfind", "partition",
        "rpartition", "isdigit", "removeprefix", "removesuffix", "expandtabs", "hex",
        # dicts, lists, sets
        "keys", "values", "items", "get", "copy", "most_common", "union", "intersection",
        "difference", "issubset",
        # models, optimizers, schedulers, parsers
        "state_dict", "parameters", "named_parameters", "modules", "named_modules", "children",
        "named_children", "buffers", "named_buffers", "get_last_lr", "get_lr", "get_scale",
        "get_epoch", "extra_repr", "num_parameters", "print_help", "format_help",
        "print_readable",
        # dates and paths
        "isoformat", "strftime", "timestamp", "total_seconds", "date", "time", "timetuple",
        "exists", "is_file", "is_dir", "resolve", "absolute", "as_posix", "with_suffix",
        "with_name", "with_stem", "joinpath", "relative_to", "expanduser", "glob", "rglob",
        "iterdir", "stat", "elapsed_time",
        # tables and figures
        "head", "tail", "describe", "to_string", "to_dict", "to_numpy", "to_list", "groupby",
        "get_figure", "gca", "gcf",
    }
)  # fmt: skip
#: Methods that change a list, set or dict.
FILLING = frozenset({"append", "extend", "insert", "add", "update", "pop", "clear", "remove"})
#: Builtins that go through what they are given.
DRAWING = frozenset(
    {
        "list", "tuple", "set", "frozenset", "dict", "sorted", "sum", "max", "min", "any", "all",
        "zip", "enumerate", "map", "filter", "reversed",
    }
)  # fmt: skip
LOOKING = frozenset({"len", "isinstance", "type", "id", "str", "repr", "format", "print", "bool"})

EffectTest = Callable[[cst.Call], bool]


class Reads:
    """Answers which expressions only read.

    Args:
        plan: the plan.
        vocabulary: what the framework adds.
        together: expressions that every process will have to evaluate, by the identity of their
            node.
    """

    def __init__(
        self, plan: Plan, vocabulary: Vocabulary, together: Set[int] = frozenset()
    ) -> None:
        self.plan = plan
        self.together = together
        self.pure = PURE + vocabulary.pure
        self.impure = NOT_PURE + vocabulary.impure
        self.calls: dict[int, list[Event]] = {}
        self.within: dict[int, list[Event]] = {}
        for event in plan.facts.events:
            if event.kind == "call":
                self.calls.setdefault(id(event.node), []).append(event)
            for frame in event.stack:
                if isinstance(frame, Call) and frame.node is not None:
                    self.within.setdefault(id(frame.node), []).append(event)
        self.drawn = {id(loader.value) for loader in plan.loaders}
        self.data_sets = {
            id(value)
            for loader in plan.loaders
            for argument in (loader.argument("dataset"),)
            if argument is not None
            for value in argument.values
        }
        self.known: dict[int, bool] = {}
        self.meeting = {
            id(function)
            for module in plan.facts.modules.values()
            for node in together
            for function in module.source.parents_of(node)
            if isinstance(function, (cst.FunctionDef, cst.Lambda))
        }

    def only_reads(self, node: cst.CSTNode, allowed: EffectTest | None = None) -> bool:
        """Whether evaluating an expression only reads.

        Args:
            node: the expression.
            allowed: calls that count as harmless, such as the effect that is to be guarded.
        """
        if id(node) in self.together:
            return False
        if isinstance(node, (cst.Name, cst.BaseNumber, cst.BaseString)) and not isinstance(
            node, cst.FormattedString
        ):
            return True
        if isinstance(node, (cst.Yield, cst.Await, cst.NamedExpr)):
            return False
        if isinstance(node, cst.Lambda):
            return True
        if isinstance(node, cst.CompFor) and not self.iterates_quietly(node.iter):
            return False
        if isinstance(node, cst.Call) and not (allowed is not None and allowed(node)):
            if not self.call_reads(node):
                return False
        if isinstance(node, cst.Subscript) and self.draws_sample(node):
            return False
        return all(self.only_reads(child, allowed) for child in children(node))

    def iterates_quietly(self, node: cst.BaseExpression) -> bool:
        """Whether looping over an expression draws nothing from loaders and generators."""
        values = self.plan.facts.values_of(node)
        return bool(values) and not any(
            self.is_stream(value) or is_given(value) for value in values
        )

    def is_stream(self, value: Value) -> bool:
        """Whether iterating over a value uses it up or draws random numbers."""
        if id(value) in self.drawn or id(value) in self.data_sets:
            return True
        if isinstance(value, Generator):
            return True
        if isinstance(value, Opaque) and value.kind == "operation":
            if value.name == "iterate":
                return True
            if value.name in ("enumerate", "zip", "filter"):
                return any(self.is_stream(v) for group in value.operands for v in group)
        return isinstance(value, Instance)

    def draws_sample(self, node: cst.Subscript) -> bool:
        """Whether indexing runs a data set's own code, which may draw random numbers."""
        values = self.plan.facts.values_of(node.value)
        return any(id(value) in self.data_sets or isinstance(value, Instance) for value in values)

    # Calls.

    def call_reads(self, node: cst.Call) -> bool:
        """Whether a call only reads, whatever its arguments' own expressions do."""
        known = self.known.get(id(node))
        if known is None:
            self.known[id(node)] = False
            events = self.calls.get(id(node), [])
            known = bool(events) and all(self.event_reads(event) for event in events)
            self.known[id(node)] = known
        return known

    def event_reads(self, event: Event) -> bool:
        """Whether one call, in one context, only reads."""
        project = False
        for callee in event.callee or (None,):
            if isinstance(callee, (Function, BoundMethod)):
                project = True
            elif isinstance(callee, Class):
                if is_subclass_of_model(callee, self.plan):
                    return False
                project = True
            elif isinstance(callee, Partial):
                continue
            elif isinstance(callee, External):
                if not self.function_reads(callee.name, event):
                    return False
            elif isinstance(callee, Opaque):
                if not self.method_reads(callee):
                    return False
            elif not isinstance(callee, Unknown) or called_method(event) not in READ_METHODS:
                return False
        return not project or self.body_reads(event)

    def function_reads(self, name: str, event: Event) -> bool:
        """Whether a function outside the project only reads."""
        if name.startswith("builtins."):
            word = name.removeprefix("builtins.")
            if word.split(".")[0] in IMPURE_BUILTINS:
                return False
            if word in LOOKING:
                return True
            return not self.given_streams(event) and not (
                word in DRAWING
                and any(is_given(value) for item in event.arguments.items for value in item.values)
            )
        if name in FLUSHES or name == "sys.stderr.flush":
            return True
        if name.startswith(self.impure) or not name.startswith(self.pure):
            return False
        return not self.given_streams(event)

    def given_streams(self, event: Event) -> bool:
        """Whether a call is given something that it would draw from."""
        return any(
            self.is_stream(value) and not isinstance(value, Instance)
            for argument in event.arguments.items
            for value in argument.values
        )

    def method_reads(self, callee: Opaque) -> bool:
        """Whether a method of something outside the project only reads."""
        if callee.kind != "attribute" or callee.name not in READ_METHODS:
            return False
        receivers = callee.operands[0] if callee.operands else ()
        moved = callee.name in ("to", "cuda", "cpu", "float", "double", "half", "type")
        return not (moved and any(self.is_model(value) for value in origins(receivers)))

    def is_model(self, value: Value) -> bool:
        """Whether moving a value changes it in place."""
        if is_instance_of(value, self.plan.table.module_bases):
            return True
        return any(model.value is value for model in self.plan.models)

    def body_reads(self, event: Event) -> bool:
        """Whether what happens inside a call of the project only reads."""
        return (
            not self.meets(event)
            and all(self.step_reads(inner) for inner in self.within.get(id(event.node), ()))
            and not changes_globals(event)
        )

    def meets(self, event: Event) -> bool:
        """Whether every process must come to a call, as they meet somewhere inside it."""
        if not self.meeting:
            return False
        inner = self.within.get(id(event.node), ())
        entered = {id(call.function.node) for step in inner for call in step.calls()}
        around = {id(call.function.node) for call in event.calls()}
        for callee in event.callee:
            function = callee.function if isinstance(callee, BoundMethod) else callee
            if isinstance(function, Function):
                entered.add(id(function.node))
        return bool((entered - around) & self.meeting)

    def step_reads(self, event: Event) -> bool:
        """Whether one thing that happens inside a call only reads."""
        if event.kind == "store":
            return all(isinstance(value, (Sequence, Mapping, Constant)) for value in event.callee)
        if event.kind == "iterate":
            return not any(self.is_stream(value) for value in event.callee)
        if event.kind != "call":
            return True
        if not isinstance(event.node, cst.Call):
            return not any(isinstance(callee, (Opaque, External)) for callee in event.callee)
        return fills_own_container(event) or self.call_reads(event.node)


def called_method(event: Event) -> str:
    """The name of the method that a call names; empty where it calls something else."""
    node = event.node
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.attr.value
    return ""


def is_given(value: Value) -> bool:
    """Whether a value is a parameter that no call in sight gives a value to."""
    return isinstance(value, Opaque) and value.kind == "parameter"


def fills_own_container(event: Event) -> bool:
    """Whether a called function changes a list or dict that it has made itself."""
    function = event.function()
    if function is None:
        return False
    for callee in event.callee:
        if not isinstance(callee, Opaque) or callee.name not in FILLING or not callee.operands:
            return False
        for value in callee.operands[0]:
            if not isinstance(value, (Sequence, Mapping)):
                return False
            if id(value.node) not in function.module.source.places.around:
                return False
            if function.node not in function.module.source.parents(value.node):
                return False
    return bool(event.callee)


def is_subclass_of_model(cls: Class, plan: Plan) -> bool:
    """Whether making an object of a class makes a model, which draws random weights."""
    return any(name in plan.table.module_bases for name in cls.external_bases())


def changes_globals(event: Event) -> bool:
    """Whether a called function of the project binds names outside of itself."""
    for callee in event.callee:
        function = callee.function if isinstance(callee, BoundMethod) else callee
        if isinstance(function, Function) and isinstance(function.node, cst.FunctionDef):
            if declares_outer_names(function.node):
                return True
    return False


def declares_outer_names(function: cst.FunctionDef) -> bool:
    """Whether a function says ``global`` or ``nonlocal``."""
    stack: list[cst.CSTNode] = [function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, (cst.Global, cst.Nonlocal)):
            return True
        if not isinstance(node, (cst.BaseExpression, cst.FunctionDef, cst.ClassDef)):
            stack.extend(children(node))
    return False
