"""The helper functions that MXNet conversions insert, by what they are about."""
