"""What is scaled, shared or clipped for the training."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.fluid._helpers.names import FLUID

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


TRAINING: dict[str, HelperTemplate] = {
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
    "add_averages": HelperSource(
        '''
def $add_averages(variables, sums=(), program=None, startup_program=None):
    """Have the servers average numbers of the trainers, as parameters that they update to them."""
    if not $get_role() or $get_trainer_count() == 1:
        return
    program = program or $fluid.default_main_program()
    startup_program = startup_program or $fluid.default_startup_program()
    block = program.global_block()
    $averages_of.block = block
    for variable in variables:
        if tuple(variable.shape) != (1,) or variable.dtype != $fluid.core.VarDesc.VarType.FP32:
            continue
        name = variable.name + ".of_all_trainers"
        own = variable
        if any(variable is each for each in sums):
            with $fluid.program_guard(program, startup_program):
                own = $fluid.layers.scale(variable, scale=float($get_trainer_count()))
        with $fluid.program_guard(program, startup_program):
            average = $fluid.layers.create_global_var([1], 0.0, "float32", True, name=name)
            rate = $fluid.layers.create_global_var([1], 1.0, "float32", True, name=name + ".rate")
        with program._backward_role_guard():
            slope = block.create_var(name=name + "@GRAD", shape=[1], dtype="float32")
            inputs = {"X": average, "Y": own}
            block.append_op(type="elementwise_sub", inputs=inputs, outputs={"Out": slope})
        with program._optimized_guard([average, slope]):
            inputs = {"Param": average, "Grad": slope, "LearningRate": rate}
            block.append_op(type="sgd", inputs=inputs, outputs={"ParamOut": average})
        $averages_of.names[variable.name] = name
''',
        (FLUID,),
        ("get_role", "get_trainer_count", "averages_of"),
    ),
    "averages_of": HelperSource(
        '''
def $averages_of(fetched):
    """Return what to fetch for the averages over all trainers."""
    for name in $averages_of.names.values():
        # They are no part of the model: nothing saves them.
        for each in (name, name + ".rate"):
            $averages_of.block.vars.pop(each, None)
    return [$averages_of.names.get(getattr(each, "name", each), each) for each in fetched]


$averages_of.names = {}
''',
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
    "vary_noise": HelperSource(
        '''
def $vary_noise(program=None):
    """Have each trainer draw noise of its own where the script gives a seed."""
    for block in (program or $fluid.default_main_program()).blocks:
        for op in block.ops:
            if op.has_attr("seed") and op.attr("seed"):
                op._set_attr("seed", op.attr("seed") + $get_trainer_id())
''',
        (FLUID,),
        ("get_trainer_id",),
    ),
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
