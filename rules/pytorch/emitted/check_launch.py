"""The helper that tells a wrong launch, where a launch file says what a right one is."""

import os


def check_launch() -> None:
    """Stop where other processes were started than the launch file says."""
    world_size = int(os.environ.get("WORLD_SIZE", 1)) if "RANK" in os.environ else 1
    expected = int(os.environ.get("EXPECTED_WORLD_SIZE", world_size))
    if expected != world_size:
        raise SystemExit(f"{world_size} processes started, {expected} expected")
