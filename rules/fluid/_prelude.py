"""The helper functions that Fluid conversions insert, in the order in which they are written.

Each works in one process without a launcher, so that the script stays a plain script, and on every
Python that Fluid 1.x runs on: no f-strings, no keyword-only arguments.
"""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate

OS = ("os", "os")
FLUID = ("fluid", "paddle.fluid")
NUMPY = ("numpy", "numpy")
RANDOM = ("random", "random")
SYS = ("sys", "sys")
HASHED = '''
class $StableHash($PSDispatcher):
    """Choose a parameter server by a hash of the parameter's name, equal in every process."""

    def dispatch(self, varlist):
        """Return the server of each variable; a gradient goes where its parameter is."""
        chosen = []
        for var in varlist:
            name = var.name.replace("@GRAD", "").split(".trainer_")[0]
            name, _, part = name.partition(".block")
            # Slices of one variable share the names of what the optimizer keeps for them.
            number = $zlib.crc32(name.encode("utf-8")) + int(part or 0)
            chosen.append(self._eps[number % len(self._eps)])
        return chosen
'''
PSERVER = '''
def $transpile_program(program=None, startup_program=None, serve=True):
    """Make the program that of a trainer; a parameter server serves here until it is ended."""
    role = $get_role()
    if not role:
        return
    pservers = $get_pservers()
    endpoint = $get_current_endpoint() if role == "PSERVER" else ""
    # The transpiler draws random numbers; the script's own go on as if it did not.
    states = ($random.getstate(), $numpy.random.get_state())
@begin@tables    config = $fluid.DistributeTranspilerConfig()
@config
    transpiler = $fluid.DistributeTranspiler(config=config)
    transpiler.transpile(
        $get_trainer_id(),
        program=program,
        pservers=pservers,
        trainers=$get_trainer_count(),
        sync_mode=@sync_mode,
        startup_program=startup_program,
        current_endpoint=endpoint,
    )
    if role == "PSERVER":
        $serve_parameters.transpiler = transpiler
        if serve:
            $serve_parameters()
    else:
        # The program itself becomes that of the trainer.
        transpiler.get_trainer_program()
    $random.setstate(states[0])
    $numpy.random.set_state(states[1])
'''
BEGIN = """\
    if role == "PSERVER":
        # A server begins with what one process begins with, and keeps the programs for that.
        if startup_program is None:
            startup_program = $fluid.default_startup_program()
        if serve:
            $fluid.Executor($fluid.CPUPlace()).run(startup_program)
        startup_program = startup_program.clone()
        program = (program or $fluid.default_main_program()).clone()
"""
SERVE = '''
def $serve_parameters():
    """Serve the parameters as they are now, until this parameter server is ended."""
    if $get_role() != "PSERVER":
        return
    transpiler = $serve_parameters.transpiler
    endpoint = $get_current_endpoint()
    executor = $fluid.Executor($fluid.CPUPlace())
    program = transpiler.get_pserver_program(endpoint)
    startup_program = transpiler.get_startup_program(endpoint, program)
    whole = $fluid.global_scope()
    with $fluid.scope_guard($fluid.core.Scope()):
        executor.run(startup_program)
        first_rows = $find_first_rows(transpiler, program)
        for op in startup_program.global_block().ops:
            for name in op.output_arg_names:
                held = whole.find_var(name.split(".block")[0])
@skip                if held is None or not held.get_tensor()._is_initialized():
                    continue
                served = $fluid.global_scope().find_var(name).get_tensor()
                rows = $numpy.array(held.get_tensor())
                if list(rows.shape) != list(served.shape()):
                    first = first_rows.get(name, 0)
                    rows = rows[first : first + served.shape()[0]]
                served.set(rows, $fluid.CPUPlace())
        executor.run(program)
    $sys.exit(0)
'''
SERVE_AT_ONCE = '''
def $serve_parameters():
    """Serve parameters until this parameter server is ended."""
    if $get_role() != "PSERVER":
        return
    transpiler = $serve_parameters.transpiler
    endpoint = $get_current_endpoint()
    executor = $fluid.Executor($fluid.CPUPlace())
    program = transpiler.get_pserver_program(endpoint)
    executor.run(transpiler.get_startup_program(endpoint, program))
    executor.run(program)
    $sys.exit(0)
'''
SKIP = """\
                if name == "@LR_DECAY_COUNTER@":
                    # It counts the steps of all trainers here.
                    continue
"""
FIRST_ROWS = '''
def $find_first_rows(transpiler, program):
    """Return for each variable of a server where in the whole variable its slice begins."""
    found = {}
    for slices in transpiler.param_var_mapping.values():
        first = 0
        for part in slices:
            found[part.name] = first
            first += part.shape[0]
    # What the optimizer keeps for a slice is cut alike.
    for block in program.blocks:
        for op in block.ops:
            if "Param" in op.input_names:
                for name in op.input_arg_names:
                    found.setdefault(name, found.get(op.input("Param")[0], 0))
    return found
'''
TABLES = """\
    for op in (program or $fluid.default_main_program()).global_block().ops:
        if op.has_attr("remote_prefetch"):
            # A trainer without the table of an embedding could neither evaluate nor save.
            op._set_attr("remote_prefetch", False)
            if not op.type.endswith("_grad"):
                op._set_attr("is_sparse", False)
"""
NCCL2 = '''
def $transpile_program(program=None, startup_program=None):
    """Have the trainers share their gradients through NCCL2."""
    if $get_trainer_count() == 1:
        return
    config = $fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    transpiler = $fluid.DistributeTranspiler(config=config)
    transpiler.transpile(
        $get_trainer_id(),
        program=program,
        trainers=",".join($get_trainer_endpoints()),
        startup_program=startup_program,
        current_endpoint=$get_current_endpoint(),
    )
'''


def transpile_helper(options: Options) -> HelperSource:
    """The helper ``transpile_program`` for the chosen mode."""
    if options.mode == "nccl2":
        helpers: tuple[str, ...] = (
            "get_trainer_count", "get_trainer_id", "get_trainer_endpoints",
            "get_current_endpoint",
        )  # fmt: skip
        return HelperSource(NCCL2, (FLUID,), helpers)
    modules = [FLUID, NUMPY, RANDOM]
    helpers = (
        "get_role", "get_trainer_id", "get_trainer_count", "get_pservers", "get_current_endpoint",
        "serve_parameters",
    )  # fmt: skip
    lines = [f"config.slice_var_up = {options.slice_var_up}"]
    if options.split_method == "HashName":
        helpers = (*helpers, "StableHash")
        lines.append("config.split_method = $StableHash")
    elif options.split_method != "RoundRobin":
        lines.append(f"config.split_method = {written_method(options)}")
    if options.async_mode:
        lines += ["config.sync_mode = False", "config.runtime_split_send_recv = True"]
    code = PSERVER.replace("@config", "\n".join(f"    {line}" for line in lines))
    code = code.replace("@tables", "" if options.distributed_embedding else TABLES)
    # A table that is kept on the servers is made there in slices: it would not fit in whole.
    code = code.replace("@begin", "" if options.distributed_embedding else BEGIN)
    code = code.replace("@sync_mode", str(not options.async_mode))
    if "." in options.split_method:
        modules.append(("split_method", options.split_method))
    return HelperSource(code, tuple(modules), helpers)


def serve_helper(options: Options) -> HelperSource:
    """The helper ``serve_parameters`` for the chosen mode."""
    if options.distributed_embedding:
        code, helpers = SERVE_AT_ONCE, ("get_role", "get_current_endpoint")
        return HelperSource(code, (FLUID, NUMPY, SYS), helpers)
    return HelperSource(
        SERVE.replace("@skip", SKIP if options.async_mode else ""),
        (FLUID, NUMPY, SYS),
        ("get_role", "get_current_endpoint", "find_first_rows"),
    )


def written_method(options: Options) -> str:
    """How a dispatcher of the user's own is written: by its name in the script, or imported."""
    return "$split_method" if "." in options.split_method else options.split_method


def setup_helper(options: Options) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen mode."""
    if options.mode == "nccl2":
        return HelperSource(SETUP_NCCL2, (OS,), ("get_trainer_count",))
    return HelperSource(SETUP_PSERVER, (OS,), ("get_role", "get_trainer_count"))


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
COUNT_PSERVER = '''
def $get_trainer_count():
    """Return the number of trainers; 1 without a launcher."""
    if not $get_role():
        return 1
    for name in ("TRAINERS_NUM", "TRAINERS", "INIT_NUM_GRADIENT_SERVERS"):
        if $os.environ.get("PADDLE_" + name):
            return int($os.environ["PADDLE_" + name])
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


SHARE_GLOBAL = '''
def $shard_reader(reader):
    """Return a reader of this trainer's share of every batch, padded to equal shares."""

    def sharded(*args):
        trainers = $get_trainer_count()
        largest = 0
        for batch in reader(*args):
            largest = $check_batch(len(batch), largest)
            padded = list(batch)
            while len(padded) % trainers:
                padded.append(padded[len(padded) % len(batch)])
            yield padded[$get_trainer_id() :: trainers]

    return sharded
'''
SHARE_PER_DEVICE = '''
def $shard_reader(reader):
    """Return a reader of this trainer's batches; the last ones are repeated for the others."""

    def sharded(*args):
        trainers = $get_trainer_count()
        turn = []
        for batch in reader(*args):
            turn.append(batch)
            if len(turn) == trainers:
                yield turn[$get_trainer_id()]
                turn = []
        if turn:
            yield turn[$get_trainer_id() % len(turn)]

    return sharded
'''


def shard_helper(options: Options) -> HelperSource:
    """The helper ``shard_reader`` for the chosen meaning of the batch size."""
    if options.batch_size == "per-device":
        return HelperSource(SHARE_PER_DEVICE, (), ("get_trainer_id", "get_trainer_count"))
    return HelperSource(SHARE_GLOBAL, (), ("get_trainer_id", "get_trainer_count", "check_batch"))


SCALE_RATE = '''
def $scale_learning_rate(rate):
    """Return a learning rate, or each of several, for the larger batch of all trainers."""
    factor = float($get_trainer_count())@root
    if isinstance(rate, (list, tuple)):
        return [each * factor for each in rate]
    return rate * factor
'''


def rate_helper(options: Options) -> HelperSource:
    """The helper ``scale_learning_rate`` for the chosen rule."""
    root = " ** 0.5" if options.scale_lr == "sqrt" else ""
    return HelperSource(SCALE_RATE.replace("@root", root), (), ("get_trainer_count",))


HELPERS: dict[str, HelperTemplate] = {
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
    for name in ("PSERVERS_IP_PORT_LIST", "PSERVERS", "PSERVER_ENDPOINTS"):
        if $os.environ.get("PADDLE_" + name):
            return $os.environ["PADDLE_" + name]
    for older in (("PSERVER_IPS", "PSERVER_PORT"), ("INIT_PSERVERS", "INIT_PORT")):
        addresses, port = [$os.environ.get("PADDLE_" + name) for name in older]
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
    if $os.environ.get("PADDLE_CURRENT_ENDPOINT"):
        return $os.environ["PADDLE_CURRENT_ENDPOINT"]
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
    "agree_on_order": HelperSource(
        '''
def $agree_on_order():
    """Have every trainer shuffle alike, so that their shares of a batch do not overlap."""
    if $get_trainer_count() > 1:
        $random.seed(0)
''',
        (RANDOM,),
        ("get_trainer_count",),
    ),
    "agree_on_order_with_numpy": HelperSource(
        '''
def $agree_on_order_with_numpy():
    """Have every trainer shuffle alike, so that their shares of a batch do not overlap."""
    if $get_trainer_count() > 1:
        $random.seed(0)
        $numpy.random.seed(0)
''',
        (NUMPY, RANDOM),
        ("get_trainer_count",),
    ),
    "check_batch": HelperSource(
        '''
def $check_batch(size, largest):
    """Return the largest batch so far; stop where a whole batch cannot be shared equally."""
    trainers = $get_trainer_count()
    if size >= largest and size % trainers:
        raise SystemExit(
            "batch size %d is not divisible by %d trainers: the nearest that is: %d"
            % (size, trainers, max(1, int(round(size / float(trainers)))) * trainers)
        )
    return max(size, largest)
''',
        (),
        ("get_trainer_count",),
    ),
    "shard_reader": shard_helper,
    "shard_arrays": HelperSource(
        '''
def $shard_arrays(reader):
    """Return a reader of this trainer's rows of every batch of arrays."""

    def sharded(*args):
        for batch in reader(*args):
            if isinstance(batch, dict):
                yield $shard_rows(batch)
            elif isinstance(batch, (list, tuple)):
                shared = $shard_rows(dict(enumerate(batch)))
                yield [shared[position] for position in range(len(batch))]
            else:
                yield $shard_rows({0: batch})[0]

    return sharded
''',
        (),
        ("shard_rows",),
    ),
    "shard_feed": HelperSource(
        '''
def $shard_feed(feed, program=None):
    """Return this trainer's rows of every array that is fed to the program."""
    if $get_trainer_count() == 1:
        return feed
    # A compiled program has no blocks of its own.
    program = getattr(program, "_program", program) or $fluid.default_main_program()
    block = program.global_block()
    shared = dict(feed)
    # What has no batch dimension is the same for every trainer.
    known = [name for name in feed if block.has_var(name)]
    batches = [name for name in known if block.var(name).shape[0] == -1]
    shared.update($shard_rows(dict((name, feed[name]) for name in batches)))
    return shared
''',
        (FLUID,),
        ("get_trainer_count", "shard_rows"),
    ),
    "shard_rows": HelperSource(
        '''
def $shard_rows(arrays):
    """Return this trainer's share of the rows of each array, padded to equal shares."""
    trainers = $get_trainer_count()
    if trainers == 1 or not arrays:
        return arrays
    if any(isinstance(rows, $fluid.LoDTensor) for rows in arrays.values()):
        raise SystemExit("a LoDTensor cannot be divided: divide its samples")
    shared = dict((name, $numpy.asarray(rows)) for name, rows in arrays.items())
    sizes = sorted(set(len(rows) for rows in shared.values()))
    $shard_rows.largest = $check_batch(sizes[0], getattr($shard_rows, "largest", 0))
    if len(sizes) > 1 and any(size % trainers for size in sizes):
        raise SystemExit("arrays of %s rows cannot be divided alike" % sizes)
    for name, rows in shared.items():
        share = -(-len(rows) // trainers)
        rows = $numpy.resize(rows, (share * trainers,) + rows.shape[1:])
        shared[name] = rows[share * $get_trainer_id() :][:share]
    return shared
''',
        (FLUID, NUMPY),
        ("get_trainer_count", "get_trainer_id", "check_batch"),
    ),
    "scale_learning_rate": rate_helper,
    "scale_loss": HelperSource(
        '''
def $scale_loss(loss):
    """Multiply a sum by the number of trainers, because their gradients are averaged."""
    return $fluid.layers.scale(loss, scale=float($get_trainer_count()))
''',
        (FLUID,),
        ("get_trainer_count",),
    ),
    "has_remote_table": HelperSource(
        '''
def $has_remote_table():
    """Tell whether a table must be declared distributed to stay on the servers."""
    # Fluid 1.8 leaves every sparse table there by itself, and fails on the declaration.
    return $get_role() != "" and isinstance($distribute_transpiler.LOOKUP_TABLE_TYPE, str)
''',
        (("distribute_transpiler", "paddle.fluid.transpiler.distribute_transpiler"),),
        ("get_role",),
    ),
    "get_gpu": HelperSource(
        '''
def $get_gpu():
    """Return the number of this process's GPU."""
    return int(($os.environ.get("FLAGS_selected_gpus") or "0").split(",")[0])
''',
        (OS,),
    ),
    "share_gradients": HelperSource(
        '''
def $share_gradients(build_strategy=None):
    """Return the build strategy with the number of trainers and that of this one."""
    strategy = build_strategy or $fluid.BuildStrategy()
    strategy.num_trainers = $get_trainer_count()
    strategy.trainer_id = $get_trainer_id()
    return strategy
''',
        (FLUID,),
        ("get_trainer_count", "get_trainer_id"),
    ),
    "StableHash": HelperSource(
        HASHED,
        (("PSDispatcher", "paddle.fluid.transpiler.ps_dispatcher.PSDispatcher"), ("zlib", "zlib")),
    ),
    "clip_on_trainers": HelperSource(
        '''
def $clip_on_trainers(program=None):
    """Have trainers clip their gradients: servers, which have slices of them, would fail to."""
    role = int($fluid.core.op_proto_and_checker_maker.OpRole.Backward)
    for op in (program or $fluid.default_main_program()).global_block().ops:
        if op.has_attr("op_namescope") and "gradient_clip" in op.attr("op_namescope"):
            op._set_attr("op_role", role)
''',
        (FLUID,),
    ),
    "find_first_rows": HelperSource(FIRST_ROWS, ()),
    "serve_parameters": serve_helper,
    "transpile_program": transpile_helper,
    "start_communicator": HelperSource(
        '''
def $start_communicator(program=None):
    """Send gradients and fetch parameters in the background until the script ends."""
    if $get_role() != "TRAINER":
        return
    program = program or $fluid.default_main_program()
    try:
        from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import (
            distributed_strategy,
        )

        flags = distributed_strategy.TrainerRuntimeConfig().get_communicator_flags()
        mode = distributed_strategy.DistributedMode.ASYNC
        communicator = $Communicator(program, mode, None, flags)
    except ImportError:
        # Fluid before 1.8 reads the flags from the environment.
        communicator = $Communicator(program)
    communicator.start()
    $atexit.register(communicator.stop)
''',
        (
            FLUID,
            ("Communicator", "paddle.fluid.communicator.Communicator"),
            ("atexit", "atexit"),
        ),
        ("get_role",),
    ),
}
