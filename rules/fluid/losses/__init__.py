"""Losses and reported numbers of Fluid scripts, made those of the whole batch."""
