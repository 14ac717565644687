"""The helpers as scripts with static graphs need them.

There every operation on tensors is added to the graph: whatever the processes tell each other at
once must be told in dynamic graph mode.
"""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource
from transpile.rules.paddle._helpers.names import PADDLE
from transpile.rules.paddle._prelude import HELPERS

#: Helpers whose every call is one conversation between the processes.
TALKING = (
    "setup_distributed", "cleanup_distributed", "share_random_state", "share_all_random_states",
    "from_main_process",
)  # fmt: skip
#: Statements that talk, within helpers that do other things, too.
INNER = {
    "main_process_first": ("$dist.barrier()", "$wait_for_all()", "wait_for_all"),
    "SharedBatches": (
        "        $dist.broadcast_object_list(drawn, src=0)",
        "        with $dynamic_graph():\n            $dist.broadcast_object_list(drawn, src=0)",
        "dynamic_graph",
    ),
}
JOIN = "        $fleet.init(is_collective=True)"
#: What fleet's rewriting of static programs needs.
NEEDED = """\
        if not $paddle.is_compiled_with_cuda():
            raise SystemExit("fleet trains static graphs on GPUs only")
        older = $os.environ.get("FLAGS_enable_pir_api", "1") in ("0", "False", "false")
        if int($paddle.__version__.split(".")[0]) >= 3 and not older:
            raise SystemExit("fleet trains static graphs of Paddle 3 with FLAGS_enable_pir_api=0")
"""


def static_helpers(options: Options) -> dict[str, HelperSource]:
    """The variants of helpers for a script with static graphs."""
    found: dict[str, HelperSource] = {}
    for name in (*TALKING, *INNER):
        template = HELPERS[name]
        source = template if isinstance(template, HelperSource) else template(options)
        code, modules, helpers = source.code, source.modules, source.helpers
        if name in TALKING:
            code, helper = code.replace("\ndef ", "\n@$dynamic_graph()\ndef ", 1), "dynamic_graph"
        else:
            before, after, helper = INNER[name]
            code = code.replace(before, after)
        if JOIN in code:
            code, modules = code.replace(JOIN, NEEDED + JOIN), (*modules, PADDLE)
        found[name] = HelperSource(code, modules, (*helpers, helper), source.without_group)
    return found
