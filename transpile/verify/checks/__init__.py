"""The judgements: pure functions from evidence to a check, one group per module."""
