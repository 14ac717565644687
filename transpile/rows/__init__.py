"""Whether code keeps the samples of a batch apart: one row per sample, and along which axis."""
