"""Say what is not known of devices other than the CPU and CUDA's GPUs.

What:
    A script that names an XPU, an HPU, an NPU, a TPU or their like, or imports what brings one, is
    warned of; one that names MPS, Apple's GPU, gets a note.

Why:
    The process group is set up for the CPU and for CUDA. Processes on other devices need another
    backend, and a device of their own each, which this tool has never seen run. There is one MPS
    device on a machine, and no backend that communicates between such devices.

Before:
    device = torch.device("xpu")

After:
    device = torch.device("cuda")

Refuses when:
    never: on the CPU and on CUDA's GPUs the output is right.

Source:
    https://pytorch.org/docs/stable/distributed.html#backends,
    https://pytorch.org/docs/stable/notes/mps.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.devices._model_places import imported, uses_accelerator, words

CODES = {"PT809": "the script may run on a device whose processes are not set up"}
NAME = re.compile(r"(xpu|hpu|npu|xla|mps|ipu|mlu|musa|mtia|maia|vulkan|privateuseone)(:\d+)?\Z")
PACKAGES = {
    "torch_npu": "npu",
    "torch_mlu": "mlu",
    "torch_musa": "musa",
    "poptorch": "ipu",
    "torch_directml": "DirectML",
    "habana_frameworks": "hpu",
    "intel_extension_for_pytorch": "xpu",
    "torch_xla": "xla",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One remark for each kind of device."""
    if not plan.trained_models:
        return
    told: set[str] = set()
    for module, node in words(plan):
        kind = kind_of(node)
        if not kind or kind in told:
            continue
        if isinstance(node, cst.Name) and not isinstance(module.source.parent(node), cst.Attribute):
            continue
        told.add(kind)
        yield remark(plan, kind, module, node)
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Import, cst.ImportFrom):
            for package in imported(node):
                kind = PACKAGES.get(package, "")
                if kind and kind not in told:
                    told.add(kind)
                    yield remark(plan, kind, module, node)


def kind_of(node: cst.CSTNode) -> str:
    """The kind of device that a word names; empty for other words."""
    text = (
        node.evaluated_value if isinstance(node, cst.SimpleString) else getattr(node, "value", "")
    )
    if isinstance(node, cst.FormattedStringText):
        # The number follows: f"xpu:{number}".
        text = node.value.removesuffix(":")
    found = NAME.match(text) if isinstance(text, str) else None
    return found.group(1) if found is not None else ""


def remark(plan: Plan, kind: str, module: Module, node: cst.CSTNode) -> Remark:
    """What is said of one kind of device."""
    if kind == "mps":
        return Remark.note(
            "PT809",
            (module, node),
            "a machine has one MPS device, and processes cannot communicate between such devices",
            "start several processes on the CPU or on CUDA's GPUs alone",
        )
    known = kind == "xpu" and uses_accelerator(plan)
    name = kind.upper() if kind.islower() else kind
    return Remark(
        "PT809",
        Level.NOTE if known else Level.WARNING,
        module,
        node,
        f"several processes on {name} devices were never tried: the process group is set up "
        "for the CPU and CUDA's GPUs",
        "choose the backend and each process's device in setup_distributed by hand",
    )
