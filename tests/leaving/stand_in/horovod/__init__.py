"""A stand-in for Horovod, which cannot be installed where these tests run; see `torch`."""
