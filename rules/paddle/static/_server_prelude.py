"""The helpers as scripts need them whose parameters are exchanged through parameter servers.

Servers run the script, too, up to where the loss is minimised. Trainers know their number and how
many they are from the environment, without a process group.
"""

from __future__ import annotations

from transpile.prelude import HelperSource
from transpile.rules.paddle._helpers.names import DIST, FLEET, OS, PADDLE

SERVER_HELPERS: dict[str, HelperSource] = {
    "setup_distributed": HelperSource(
        '''
def $setup_distributed():
    """Take the role that the launcher gave this process; stay one process without one."""
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    counts.append($os.environ.get("PADDLE_TRAINERS_NUM"))
    if "TRAINING_ROLE" not in $os.environ:
        if any(int(count or 1) > 1 for count in counts):
            raise SystemExit("several tasks: start servers and trainers, each with TRAINING_ROLE")
        return
    for name in ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINERS_NUM"):
        if name not in $os.environ:
            raise SystemExit(f"TRAINING_ROLE is set but not {name}: use the launcher")
    trainers = $dist.get_world_size()
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", trainers))
    if expected != trainers:
        raise SystemExit(f"{trainers} trainers started, {expected} expected")
    if int($paddle.__version__.split(".")[0]) >= 3:
        raise SystemExit("Paddle 3 has no parameter servers: install paddlepaddle 2.6")
    if $os.environ["TRAINING_ROLE"] == "TRAINER":
        # They must name an address, too, on which they never listen.
        $os.environ.setdefault("POD_IP", "127.0.0.1")
        $os.environ.setdefault("PADDLE_PORT", "0")
    dynamic = $paddle.in_dynamic_mode()
    $paddle.enable_static()
    $fleet.init($fleet.PaddleCloudRoleMaker(is_collective=False))
    if dynamic:
        $paddle.disable_static()
''',
        (DIST, FLEET, OS, PADDLE),
    ),
    "cleanup_distributed": HelperSource(
        '''
def $cleanup_distributed():
    """Leave the servers once this trainer is done."""
    if "TRAINING_ROLE" in $os.environ:
        $fleet.stop_worker()
''',
        (FLEET, OS),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this process is the first trainer, which alone writes files and prints."""
    return $os.environ.get("TRAINING_ROLE") != "PSERVER" and $dist.get_rank() == 0
''',
        (DIST, OS),
        without_group=True,
    ),
    "minimize_on_servers": HelperSource(
        '''
def $minimize_on_servers(optimizer, *arguments, **options):
    """Minimise on every trainer, exchanging each step's changes; a server serves from here on."""
    if "TRAINING_ROLE" not in $os.environ:
        return optimizer.minimize(*arguments, **options)
    strategy = $fleet.DistributedStrategy()
    strategy.a_sync = True
    strategy.a_sync_configs = {"k_steps": 1}
    optimizer = $fleet.distributed_optimizer(optimizer, strategy)
    minimized = optimizer.minimize(*arguments, **options)
    if $fleet.is_server():
        $fleet.init_server()
        $fleet.run_server()
        raise SystemExit(0)
    return minimized
''',
        (FLEET, OS),
    ),
    "begin_with_servers": HelperSource(
        '''
def $begin_with_servers():
    """Begin with the parameters of the first trainer, which the servers hand out."""
    if "TRAINING_ROLE" in $os.environ:
        $fleet.init_worker()
''',
        (FLEET, OS),
    ),
    "share_files": HelperSource(
        '''
def $share_files(files):
    """Return this trainer's part of the files; all of them for one process."""
    if "TRAINING_ROLE" not in $os.environ:
        return files
    if len(files) < $fleet.worker_num():
        raise SystemExit(f"{len(files)} files are too few for {$fleet.worker_num()} trainers")
    return $fleet.util.get_file_shard(files)
''',
        (FLEET, OS),
    ),
}
