"""The closing check: every site that matters for training is claimed by some ruling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from transpile.checks.unreached import calls_in
from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.state import truth
from transpile.facts.values import Function
from transpile.facts.walk import descendants
from transpile.plan.effects.treatment import Preparation, Run
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.prelude import HelperSource, closed, sources_of
from transpile.result import Verdict
from transpile.rule import Change, Helper, Remark, Ruling, Rulings, place

#: The rulings that are carried out, with the changes that they ask for.
Asked = Sequence[tuple[Ruling, Sequence[Change]]]
#: What names the functions in which processes wait for each other.
MEETING = ("broadcast", "broadcast_object_list", "all_reduce", "all_gather", "barrier")

#: By what a script comes to its functions without their names, or gives all of them on.
LOOKING_UP = frozenset(
    {"globals", "locals", "vars", "dir", "eval", "exec", "modules", "getmembers", "__dict__",
     "__import__", "import_module", "currentframe", "_getframe", "Fire"}
)  # fmt: skip


def unclaimed(plan: Plan, rulings: Rulings) -> Iterator[Remark]:
    """A remark for each backward pass, optimizer step, training loop and loader left unclaimed."""
    claimed: set[int] = set()
    for answers in rulings.by_rule.values():
        for ruling in answers:
            if ruling.verdict is not Verdict.REFUSE:
                claimed.update(id(node) for node in ruling.claims)
    seen: set[int] = set()
    idle = idle_sites(plan)
    for word, module, node in sites(plan):
        if id(node) in claimed or id(node) in seen:
            continue
        seen.add(id(node))
        if id(node) in idle:
            # What is run is the script: nothing but another script would import it.
            say = Remark.note if idle[id(node)].module.is_entry else Remark.warn
            yield say(
                "DT005",
                (module, node),
                f"no part of the project uses the function around this {word}, so it stays as it "
                "is",
                "convert it by hand if something outside of the project calls it",
            )
            continue
        test = ruled_out(plan, node)
        if test:
            yield Remark.note(
                "DT005",
                (module, node),
                f"this {word} is for another outcome of `{test}` than the values of the script "
                "have: it stays as it is",
                "convert the script again where these values change",
            )
            continue
        yield Remark.error(
            "DT005",
            (module, node),
            f"no rule takes care of this {word}, so it might train differently on several ranks",
            "make it part of the training loop that the tool recognises, or convert it by hand",
        )


def among_imports(plan: Plan) -> Iterator[Remark]:
    """A remark for each effect between the imports, where no guard is defined yet."""
    for effect in plan.once.early if plan.once is not None else ():
        yield Remark.warn(
            "DT013",
            effect,
            f"{effect.word} {effect.kind.value} in every process: it stands between the imports, "
            "before the processes know of each other",
            "put it behind the imports",
        )


def too_early(plan: Plan, asked: Asked) -> Iterator[Remark]:
    """A remark for each edit that asks for the process group while a module is imported.

    The script joins the process group, and imports its modules before that.
    """
    if plan.table.joins_by_import or all(each.is_entry for each in plan.facts.modules.values()):
        return
    sources = sources_of(plan)
    functions = {id(frame.function.node) for event in imported(plan) for frame in event.calls()}
    for ruling, changes in asked:
        function = function_of(ruling.module, ruling.node)
        if ruling.module.is_entry or not (function is None or id(function) in functions):
            continue
        if any(
            isinstance(change, Helper) and not sources[change.name].without_group
            for change in changes
        ):
            yield Remark.error(
                "DT009",
                ruling,
                "this runs while the module is imported, and the script joins the process group "
                "only afterwards",
                "put it into a function that the script calls",
            )


def met_by_some(plan: Plan, asked: Asked) -> Iterator[Remark]:
    """A remark for each guarded place that calls what all processes would have to meet in.

    A guard lets one process pass, and a turn one after the other: they would wait for ever.
    """
    sources = sources_of(plan)
    meeting: dict[int, tuple[Module, cst.CSTNode | None]] = {}
    for ruling, changes in asked:
        function = function_of(ruling.module, ruling.node)
        if function is not None and any(meets(change, sources) for change in changes):
            meeting.setdefault(id(function), (ruling.module, ruling.node))
    entered: dict[int, set[int]] = {}
    for split in split_calls(plan):
        meeting[id(split.node)] = (split.module, split.node)
        for node in (split.node, *(frame.node for frame in split.calls())):
            entered.setdefault(id(node), set()).add(id(split.node))
    if not meeting:
        return
    stacks = {id(event.stack): event for event in plan.facts.events}
    for event in stacks.values():
        functions: set[int] = set()
        for call in reversed(list(event.calls())):
            functions.add(id(call.function.node))
            entered.setdefault(id(call.node), set()).update(functions)
    for ruling, _ in asked:
        if not isinstance(ruling.data, (Run, Preparation)):
            continue
        # What is bound to a name before the guard is computed by every process.
        bound = getattr(ruling.data, "bound", ())
        before = {id(node) for expression in bound for node in descendants(expression)}
        inside = {
            function
            for statement in ruling.data.statements
            for node in descendants(statement)
            if id(node) not in before
            for function in entered.get(id(node), ())
        }
        for function_id in sorted(inside & meeting.keys()):
            path, line, _ = place(*meeting[function_id])
            yield Remark.error(
                "DT010",
                ruling,
                f"not all processes come here at the same time, but they would have to meet in "
                f"what is called here ({path}:{line})",
                "call it outside of what one process does alone",
            )
            break


def split_calls(plan: Plan) -> Iterator[Event]:
    """The calls in which every process computes its rows and waits for those of the others."""
    for model in plan.trained_models if plan.way == "calls" else ():
        yield from (event for event in model.forwards if not event.detached)


def meets(change: Change, sources: Mapping[str, HelperSource]) -> bool:
    """Whether a change makes all processes wait for each other."""
    if isinstance(change, Helper):
        return any(
            word in sources[name].code
            for name in closed([change.name], sources)
            for word in MEETING
        )
    text = getattr(change.edit, "text", "") or getattr(change.edit, "opening", "")
    return any(f".{word}(" in text for word in MEETING)


def imported(plan: Plan) -> Iterator[Event]:
    """What happens while modules are imported."""
    for event in plan.facts.events:
        if not event.detached:
            first = next(event.calls(), None)
            module = event.module if first is None else first.module
            if not module.is_entry:
                yield event


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The sites that some ruling must claim."""
    for backward in plan.backwards:
        yield "backward pass", backward.event.module, backward.event.node
    for optimizer in plan.optimizers:
        for step in optimizer.steps:
            if not of_another_script(plan, step):
                yield "optimizer step", step.module, step.node
    for loader in plan.training_loaders:
        yield "training loader", loader.event.module, loader.event.node
    if plan.table.sites is not None:
        yield from plan.table.sites(plan)


def of_another_script(plan: Plan, event: Event) -> bool:
    """Whether a place runs only where an imported module is started as a script itself."""
    first = next(event.calls(), None)
    if not event.detached or first is None or first.function.module.is_entry:
        return False
    # What a module calls outside of functions, and no import comes to, stands under a test of
    # the module's name.
    return any(
        around is None
        and isinstance(call.func, cst.Name)
        and call.func.value == first.function.name
        for call, around in calls_in(first.function.module)
    )


def idle_sites(plan: Plan) -> dict[int, Function]:
    """The identities of backward passes and steps in functions that nothing names, and these."""
    found: dict[int, Function] = {}
    steps = [step for optimizer in plan.optimizers for step in optimizer.steps]
    for event in (*steps, *(backward.event for backward in plan.backwards)):
        first = next(event.calls(), None)
        if event.detached and first is not None and not is_named(plan, first.function):
            if not first.function.module.is_entry or not looks_up(first.function):
                found[id(event.node)] = first.function
    return found


def ruled_out(plan: Plan, node: cst.CSTNode) -> str:
    """The test by whose known outcome a place is left out in every run; empty where it is not."""
    found = ""
    for event in plan.facts.events:
        if event.node is node:
            found = left_out_by(plan, event) if event.detached else ""
            if not found:
                return ""
    return found


def left_out_by(plan: Plan, event: Event) -> str:
    """The known test of a script's own values that leaves out what leads to an event."""
    first = next(event.calls(), None)
    module, inner = event.module, event.node
    if first is not None:
        if first.node is None:
            return ""
        module, inner = first.module, first.node
    if not module.is_entry:
        return ""
    for outer in module.source.parents(inner):
        if isinstance(outer, cst.If) and inner is not outer.test:
            known = truth(plan.facts.values_of(outer.test))
            if known is not None and known is not (inner is outer.body):
                return module.source.code(outer.test)
        inner = outer
    return ""


def looks_up(function: Function) -> bool:
    """Whether something may come to a function of a script other than by its name."""
    if not isinstance(function.node, cst.FunctionDef) or function.node.decorators:
        return True
    return any(name.value in LOOKING_UP for name in function.module.source.nodes_of(cst.Name))


def is_named(plan: Plan, function: Function) -> bool:
    """Whether some module names a function, or the class that it is a method of."""
    around = function.module.source.parents(function.node)
    holder = next((node for node in around if isinstance(node, cst.ClassDef)), function.node)
    if isinstance(holder, cst.Lambda):
        return True
    name = holder.name
    for module in plan.facts.modules.values():
        names = module.source.nodes_of(cst.Name)
        if any(node.value == name.value and node is not name for node in names):
            return True
        texts = module.source.nodes_of(cst.SimpleString)
        if any(node.value.strip("\"'") == name.value for node in texts):
            return True
    return False
