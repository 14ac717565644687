"""The helper functions that Fluid conversions insert, by what they are about."""
