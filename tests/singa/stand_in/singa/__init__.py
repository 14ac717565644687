"""A stand-in for Apache SINGA, of which there is no wheel and which needs GPUs to share gradients.

It has the documented interface of SINGA 3.x and 4.x as far as the fixtures use it, on NumPy. It
really trains, and several processes really add up their gradients, over a local socket. "GPUs" are
names: what SINGA would not do on a GPU or across two of them, this does not do either. All numbers
are kept with 64 bits, so that processes can be compared with one; arrays come back as they would.
"""

from . import autograd, device, layer, model, module, opt, singa_wrap, tensor

__all__ = ["autograd", "device", "layer", "model", "module", "opt", "singa_wrap", "tensor"]
