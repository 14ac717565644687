"""The checks that manifests must pass: of Kubernetes' own schemas, and of the operators'."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from clusters import documents

VALIDATOR = Path(__file__).resolve().parents[3] / "shared" / "launch" / "validate_manifest.py"
CORE = {"v1", "batch/v1"}
KUBERNETES = "1.37.0"
#: The releases of the schemas that each target must satisfy, beside the newest.
RELEASES = {
    "pytorchjob": ("v1.8.1", "v1.9.4"),
    "paddlejob": ("v1.8.1", "v1.9.4"),
    "tfjob": ("v1.8.1", "v1.9.4"),
    "mxjob": ("v1.8.1",),
    "mpijob": ("v0.8.0", "v0.8.2"),
    "jobset": ("v0.12.0",),
    "volcano": ("v1.15.1",),
}
TRAINER_RELEASES = {"2.0": "v2.0.1", "2.1": "v2.1.0", "2.2": "v2.2.1", "2.3": "v2.3.0"}

needs_operators = pytest.mark.skipif(
    not VALIDATOR.is_file(),
    reason="the operators' schemas are not here: ../shared/launch/validate_manifest.py",
)


def check_core(text: str) -> None:
    """Check the objects that Kubernetes itself knows."""
    import kubernetes_validate

    for document in documents(text):
        if document["apiVersion"] in CORE:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)


def check_with_operators(text: str, release: str | None = None) -> None:
    """Check all objects against the schemas and the admission rules of a release."""
    for document in documents(text):
        found, _, notes, used = _validator().validate_obj(document, _schemas(), release)
        assert not found, (document["kind"], used, found)
        if release and document["apiVersion"] not in CORE:
            assert release in str(used), (release, used)
        assert not notes or not _has_cel(), notes


def load() -> None:
    """Read the schemas of the operators."""
    _validator()
    _schemas()


@cache
def _validator() -> ModuleType:
    specification = spec_from_file_location("validate_manifest", VALIDATOR)
    assert specification is not None and specification.loader is not None
    module = module_from_spec(specification)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        specification.loader.exec_module(module)
    return module


@cache
def _schemas() -> Any:
    return _validator().load_crds()


def _has_cel() -> bool:
    return _validator().celpy is not None
