"""Losses, metrics and reported numbers of MXNet scripts, over the samples of all workers."""
