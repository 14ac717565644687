"""Batches on the host, and the shares of them on the devices."""
