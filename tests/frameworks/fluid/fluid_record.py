"""Runs a script as the main program and keeps the parameters that it ends with; no test itself.

python fluid_record.py PARAMETERS.npz SCRIPT [ARGUMENTS...]
"""

import faulthandler
import gc
import runpy
import sys

import numpy
import paddle.fluid as fluid

#: Seconds after which a process tells where it stands: those that wait end it a little later.
TOO_LONG = 120


def parameters() -> dict:  # type: ignore[type-arg]
    """The values of all trained parameters of all programs, by name, in the global scope."""
    found = {}
    for program in [each for each in gc.get_objects() if isinstance(each, fluid.Program)]:
        for variable in program.list_vars():
            if isinstance(variable, fluid.framework.Parameter) and variable.trainable:
                held = fluid.global_scope().find_var(variable.name)
                if held is not None and held.get_tensor()._is_initialized():
                    found[variable.name] = numpy.array(held.get_tensor())
    return found


faulthandler.dump_traceback_later(TOO_LONG)
output, script = sys.argv[1:3]
sys.argv = sys.argv[2:]
sys.path[0] = script.rpartition("/")[0] or "."
try:
    runpy.run_path(script, run_name="__main__")
finally:
    numpy.savez(output, **parameters())
