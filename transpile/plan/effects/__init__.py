"""Calls that others can see: output, files, trackers, downloads."""
