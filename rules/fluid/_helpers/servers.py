"""Programs of parameter servers and trainers."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.fluid._helpers.names import FLUID, NUMPY, OS, RANDOM, SYS

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
@alone    pservers = $get_pservers()
    endpoint = $get_current_endpoint() if role == "PSERVER" else ""
    # The transpiler draws random numbers; the script's own go on as if it did not.
    states = ($random.getstate(), $numpy.random.get_state())
@begin@tables    whole = program or $fluid.default_main_program()
    # A reader is a variable, too, and has no shape.
    tensor = $fluid.core.VarDesc.VarType.LOD_TENSOR
    kept = [var for var in whole.list_vars() if var.persistable and var.type == tensor]
    $serve_parameters.kept = [(var.name, var.shape, var.dtype) for var in kept]
    config = $fluid.DistributeTranspilerConfig()
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
    $serve_parameters.transpiler = transpiler
    if role == "PSERVER":
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

ALONE = """\
    if $get_trainer_count() == 1:
        # Synchronous servers of Fluid 1.8 crash with a single trainer, which needs none.
        if role == "PSERVER":
            $sys.exit(0)
        return
"""

SEVERAL = '''
def $transpile_programs(programs, startup_program=None):
    """Make each program that of a trainer; every parameter server serves one of them."""
    if not $get_role() or $get_trainer_count() == 1:
        $transpile_program(programs[0], startup_program)
        return
    servers = $get_pservers().split(",")
    if len(servers) < len(programs):
        raise SystemExit(
            "%d programs are trained, each with servers of its own: start %d servers or more, "
            "not %d" % (len(programs), len(programs), len(servers))
        )
    programs = [program or $fluid.default_main_program() for program in programs]
    updating = int($fluid.core.op_proto_and_checker_maker.OpRole.Optimize)
    trained = [
        name
        for program in programs
        for name in set(
            op.input("Param")[0]
            for op in program.global_block().ops
            if op.attr("op_role") == updating and "Param" in op.input_names
        )
    ]
    twice = sorted(name for name in set(trained) if trained.count(name) > 1)
    if twice:
        raise SystemExit("servers of one program alone can train %s, which several do" % twice[0])
    for number, program in enumerate(programs):
        serving = servers[number :: len(programs)]
        if $get_role() == "TRAINER" or $get_current_endpoint() in serving:
            # What tells servers apart is the list that they are looked up in.
            $os.environ["PADDLE_PSERVERS_IP_PORT_LIST"] = ",".join(serving)
            $transpile_program(program, startup_program)
    $os.environ["PADDLE_PSERVERS_IP_PORT_LIST"] = ",".join(servers)
'''

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

SAVE = '''
def $save_whole_state(executor, dirname, main_program=None, filename=None):
    """Save all that the program keeps; what the servers hold of it is fetched from them."""
    if not hasattr($serve_parameters, "transpiler"):
        $fluid.io.save_persistables(executor, dirname, main_program, filename)
        return
    $fluid.io.save_persistables(executor, dirname, main_program or $fluid.default_main_program())
    for name in $os.listdir(dirname):
        if name.endswith(".of_all_trainers"):  # a number that is averaged, no part of the model
            $os.remove($os.path.join(dirname, name))
    # That knows of parameters and the optimizer, not of the learning rate and its count of steps.
    placed = $serve_parameters.transpiler.param_grad_ep_mapping
    updating = [endpoint for endpoint in placed if placed[endpoint]["params"]]
    fetching = $fluid.Program()
    for name, shape, dtype in $serve_parameters.kept:
        path = $os.path.join(dirname, name)
        if $os.path.exists(path) and name != "@LR_DECAY_COUNTER@":
            continue
        if ".of_all_trainers" in name:  # a number that is averaged, no part of the model
            continue
        fetching.global_block().append_op(
            type="recv_save",
            attrs={
                "trainer_id": $get_trainer_id(),
                "dtype": dtype,
                "shape": shape,
                "slice_shapes": [",".join(str(size) for size in shape)],
                "slice_varnames": [name + ".slice.0"],
                "remote_varnames": [name],
                "endpoints": updating[:1],
                "file_path": path,
            },
        )
    executor.run(fetching)
'''

SAVE_MODEL = '''
def $save_own_model(
    dirname, feeded_var_names, target_vars, executor, main_program=None, *args, **kwargs
):
    """Save a model for inference with the parameters of this trainer, which all have alike."""
    program = main_program or $fluid.default_main_program()
    program = getattr(program, "_program", program)
    distributed, program._is_distributed = program._is_distributed, False
    try:
        return $fluid.io.save_inference_model(
            dirname, feeded_var_names, target_vars, executor, program, *args, **kwargs
        )
    finally:
        program._is_distributed = distributed
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
    # Asynchronous ones do not.
    code = code.replace("@alone", "" if options.async_mode else ALONE)
    code = code.replace("@tables", "" if options.distributed_embedding else TABLES)
    # A table that is kept on the servers is made there in slices: it would not fit in whole.
    code = code.replace("@begin", "" if options.distributed_embedding else BEGIN)
    code = code.replace("@sync_mode", str(not options.async_mode))
    if not options.async_mode:
        modules.append(SYS)
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


SERVERS: dict[str, HelperTemplate] = {
    "StableHash": HelperSource(
        HASHED,
        (("PSDispatcher", "paddle.fluid.transpiler.ps_dispatcher.PSDispatcher"), ("zlib", "zlib")),
    ),
    "find_first_rows": HelperSource(FIRST_ROWS, ()),
    "save_whole_state": HelperSource(SAVE, (FLUID, OS), ("get_trainer_id", "serve_parameters")),
    "save_own_model": HelperSource(SAVE_MODEL, (FLUID,)),
    "serve_parameters": serve_helper,
    "transpile_program": transpile_helper,
    "transpile_programs": HelperSource(
        SEVERAL,
        (FLUID, OS),
        (
            "get_role", "get_trainer_count", "get_pservers", "get_current_endpoint",
            "transpile_program",
        ),  # fmt: skip
    ),
}
