"""The helper functions that PyTorch conversions insert, by what they are about."""
