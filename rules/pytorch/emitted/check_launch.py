"""The helper that tells a wrong launch, where a launch file says what a right one is."""

import os


def check_launch():
    """Stop where other processes were started than the launch file says."""
    counts = [os.environ.get("OMPI_COMM_WORLD_SIZE"), os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in os.environ:
        counts.append(os.environ.get("SLURM_NTASKS"))
    if "RANK" not in os.environ and any(int(count or 1) > 1 for count in counts):
        raise SystemExit("several tasks but no RANK: start this script with torchrun")
    world_size = int(os.environ.get("WORLD_SIZE", 1)) if "RANK" in os.environ else 1
    expected = int(os.environ.get("EXPECTED_WORLD_SIZE", world_size))
    if expected != world_size:
        raise SystemExit(f"{world_size} processes started, {expected} expected")
