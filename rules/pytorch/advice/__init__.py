"""What to do about each finding of PyTorch's rules and checks, in its own words."""

from __future__ import annotations

from transpile.rules.pytorch.advice import (
    agreement,
    audit_effects,
    audit_meetings,
    audit_training,
    batches,
    data,
    devices,
    effects,
    losses,
    models,
    numbers,
    processes,
    sharding,
)

ADVICE = {
    **agreement.ADVICE,
    **audit_effects.ADVICE,
    **audit_meetings.ADVICE,
    **audit_training.ADVICE,
    **batches.ADVICE,
    **data.ADVICE,
    **devices.ADVICE,
    **effects.ADVICE,
    **losses.ADVICE,
    **models.ADVICE,
    **numbers.ADVICE,
    **processes.ADVICE,
    **sharding.ADVICE,
}
