"""Conversions that are broken on purpose: the audit says so wherever their source shows it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from transpile.auditing import audit
from transpile.finding import Level

SCRIPTS = Path(__file__).parent.parent / "verify"
sys.path.insert(0, str(SCRIPTS))

from test_audit_of_broken_scripts import BROKEN, GOOD, Variant, edited  # noqa: E402

SHOWN = {
    "no set_epoch": "AU202",
    "no sampler": "AU201",
    "save on all ranks": "AU401",
    "append on all ranks": "AU401",
    "print on all ranks": "AU405",
    "model not wrapped": "AU301",
    "another optimizer's model not wrapped": "AU301",
    "evaluation sharded with padding": "AU601",
    "checkpoint with the wrapper's prefix": "AU406",
    "splits that the ranks do not agree on": "AU205",
    "summed loss not rescaled": "AU304",
}


def codes(variant: Variant) -> set[str]:
    text = edited(f"{variant.pair}_distributed.py", variant.converted)
    return {found.code for found in audit(text)}


@pytest.mark.parametrize(
    "variant", [each for each in BROKEN if each.name in SHOWN], ids=lambda variant: variant.name
)
def test_what_the_source_shows_is_found(variant: Variant) -> None:
    assert SHOWN[variant.name] in codes(variant)


@pytest.mark.parametrize("variant", GOOD, ids=lambda variant: variant.name)
def test_good_ones_have_no_error(variant: Variant) -> None:
    text = edited(f"{variant.pair}_distributed.py", variant.converted)
    assert not [found for found in audit(text) if found.level is Level.ERROR]


def test_every_name_is_one_of_a_broken_script() -> None:
    assert set(SHOWN) <= {variant.name for variant in BROKEN}
