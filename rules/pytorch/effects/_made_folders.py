"""Listings that a process reaches only where a folder is there that the script makes itself."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.plan.effects.effect_names import DIRECTORIES
from transpile.plan.effects.missing_files import MissingFiles
from transpile.plan.effects.readback import DEEPEST, path_written, same
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY


def may_be_made_meanwhile(plan: Plan, listing: Event) -> bool:
    """Whether a test for a file decides about a listing of a folder that the script makes.

    One process may have made the folder by the time another one looks for it: then not all of
    them come to the listing.
    """
    once = once_of(plan)
    if MissingFiles(once, VOCABULARY).decider(listing) is None:
        return False
    given = listing.arguments.items[0].values if listing.arguments.items else ()
    parts = list(walk_back(given))
    return any(
        same(made, part, DEEPEST)
        for effect in once.effects.values()
        if effect.word in DIRECTORIES
        for event in effect.events
        for made in path_written(effect, event, VOCABULARY)
        for part in parts
    )
