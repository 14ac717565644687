"""Roles, numbers and addresses, as launchers tell them."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.fluid._helpers.names import OS, SYS

SETUP_PSERVER = '''
def $setup_distributed():
    """Check what the launcher says before anything happens; stay one process without one."""
    if not $get_role():
        for name in ("PADDLE_TRAINERS_NUM", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
            if int($os.environ.get(name) or 1) > 1:
                raise SystemExit(
                    "%s is set without TRAINING_ROLE: start this script with "
                    "python -m paddle.distributed.launch_ps" % name
                )
        return
    if $get_role() not in ("PSERVER", "TRAINER"):
        raise SystemExit("TRAINING_ROLE is %s, not PSERVER or TRAINER" % $get_role())
    expected = $os.environ.get("EXPECTED_WORLD_SIZE")
    if expected and int(expected) != $get_trainer_count():
        raise SystemExit("%s trainers are expected" % expected)
'''

SETUP_NCCL2 = '''
def $setup_distributed():
    """Check what the launcher says before anything happens; stay one process without one."""
    if $get_trainer_count() == 1:
        for name in ("PADDLE_TRAINERS_NUM", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
            if int($os.environ.get(name) or 1) > 1:
                raise SystemExit(
                    "%s is set without PADDLE_TRAINER_ENDPOINTS: start this script with "
                    "python -m paddle.distributed.launch" % name
                )
    expected = $os.environ.get("EXPECTED_WORLD_SIZE")
    if expected and int(expected) != $get_trainer_count():
        raise SystemExit("%s trainers are expected" % expected)
'''


def setup_helper(options: Options) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen mode."""
    if options.mode == "nccl2":
        return HelperSource(SETUP_NCCL2, (OS,), ("get_trainer_count",))
    return HelperSource(SETUP_PSERVER, (OS,), ("get_role", "get_trainer_count"))


COUNT_PSERVER = '''
def $get_trainer_count():
    """Return the number of trainers; 1 without a launcher."""
    if not $get_role():
        return 1
    older = ("PADDLE_TRAINERS", "PADDLE_INIT_NUM_GRADIENT_SERVERS", "TRAINERS")
    for name in ("PADDLE_TRAINERS_NUM",) + older:
        if $os.environ.get(name):
            return int($os.environ[name])
    raise SystemExit("TRAINING_ROLE is set, but not PADDLE_TRAINERS_NUM")
'''

COUNT_NCCL2 = '''
def $get_trainer_count():
    """Return the number of trainers; 1 without a launcher."""
    return max(1, len($get_trainer_endpoints()))
'''


def count_helper(options: Options) -> HelperSource:
    """The helper ``get_trainer_count`` for the chosen mode."""
    if options.mode == "nccl2":
        return HelperSource(COUNT_NCCL2, (), ("get_trainer_endpoints",))
    return HelperSource(COUNT_PSERVER, (OS,), ("get_role",))


def first_helper(options: Options) -> HelperSource:
    """The helper ``is_main_process`` for the chosen mode."""
    if options.mode == "nccl2":
        return HelperSource(
            '''
def $is_main_process():
    """Tell whether this process is trainer 0, which alone writes files and prints."""
    return $get_trainer_id() == 0
''',
            (),
            ("get_trainer_id",),
        )
    return HelperSource(
        '''
def $is_main_process():
    """Tell whether this process is trainer 0, which alone writes files and prints."""
    return $get_role() != "PSERVER" and $get_trainer_id() == 0
''',
        (),
        ("get_role", "get_trainer_id"),
    )


LAUNCHER: dict[str, HelperTemplate] = {
    "get_role": HelperSource(
        '''
def $get_role():
    """Return PSERVER or TRAINER as the launcher says; an empty text without a launcher."""
    role = $os.environ.get("TRAINING_ROLE") or $os.environ.get("PADDLE_TRAINING_ROLE")
    return (role or "").upper()
''',
        (OS,),
    ),
    "get_trainer_id": HelperSource(
        '''
def $get_trainer_id():
    """Return the number of this trainer; 0 without a launcher."""
    older = $os.environ.get("PADDLE_INIT_TRAINER_ID")
    return int($os.environ.get("PADDLE_TRAINER_ID") or older or 0)
''',
        (OS,),
    ),
    "get_trainer_endpoints": HelperSource(
        '''
def $get_trainer_endpoints():
    """Return the address and port of each trainer; an empty list without a launcher."""
    endpoints = $os.environ.get("PADDLE_TRAINER_ENDPOINTS") or ""
    addresses = $os.environ.get("PADDLE_TRAINER_IPS")
    port = $os.environ.get("PADDLE_PSERVER_PORT")
    if not endpoints and addresses and port:
        # As launchers before Fluid 1.2 say it.
        endpoints = ",".join(address + ":" + port for address in addresses.split(","))
    return [endpoint for endpoint in endpoints.split(",") if endpoint]
''',
        (OS,),
    ),
    "get_trainer_count": count_helper,
    "get_pservers": HelperSource(
        '''
def $get_pservers():
    """Return the addresses and ports of all parameter servers, with commas between them."""
    older = ("PADDLE_PSERVER_ENDPOINTS", "PADDLE_PSERVERS", "PSERVERS")
    for name in ("PADDLE_PSERVERS_IP_PORT_LIST",) + older:
        if ":" in $os.environ.get(name, ""):
            return $os.environ[name]
    # As older launchers say it, all servers have one port.
    for name, port_name in (
        ("PADDLE_PSERVERS", "PADDLE_PORT"),
        ("PADDLE_PSERVER_IPS", "PADDLE_PSERVER_PORT"),
        ("PADDLE_INIT_PSERVERS", "PADDLE_INIT_PORT"),
    ):
        addresses, port = $os.environ.get(name), $os.environ.get(port_name)
        if addresses and port:
            return ",".join(address + ":" + port for address in addresses.split(","))
    raise SystemExit("TRAINING_ROLE is set, but not PADDLE_PSERVERS_IP_PORT_LIST")
''',
        (OS,),
    ),
    "get_current_endpoint": HelperSource(
        '''
def $get_current_endpoint():
    """Return the address and port of this process."""
    for name in ("PADDLE_CURRENT_ENDPOINT", "SERVER_ENDPOINT"):
        if $os.environ.get(name):
            return $os.environ[name]
    address = $os.environ.get("POD_IP") or $os.environ.get("PADDLE_CURRENT_IP")
    for name in ("PADDLE_PORT", "PADDLE_PSERVER_PORT", "PADDLE_INIT_PORT"):
        if address and $os.environ.get(name):
            return "%s:%s" % (address, $os.environ[name])
    raise SystemExit("neither PADDLE_CURRENT_ENDPOINT nor POD_IP is set")
''',
        (OS,),
    ),
    "setup_distributed": setup_helper,
    "is_main_process": first_helper,
    "leave_to_main_process": HelperSource(
        '''
def $leave_to_main_process():
    """End every trainer but the first, which alone goes on with what it has written."""
    if not $is_main_process():
        $sys.exit(0)
''',
        (SYS,),
        ("is_main_process",),
    ),
    "print_once": HelperSource(
        '''
def $print_once(*args, **kwargs):
    """Print on trainer 0 alone."""
    if $is_main_process():
        print(*args, **kwargs)
''',
        (),
        ("is_main_process",),
    ),
    "get_gpu": HelperSource(
        '''
def $get_gpu():
    """Return the number of this process's GPU."""
    return int(($os.environ.get("FLAGS_selected_gpus") or "0").split(",")[0])
''',
        (OS,),
    ),
}
