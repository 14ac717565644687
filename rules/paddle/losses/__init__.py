"""Losses and reported numbers of Paddle scripts, made those of the global batch."""
