"""The helper functions that SINGA conversions insert."""
