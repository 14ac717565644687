"""What several test modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from transpile.verify import Auditor


@pytest.fixture(scope="session")
def auditor() -> Iterator[Auditor]:
    """One start of the framework serves all audits of the session."""
    with Auditor() as running:
        yield running
