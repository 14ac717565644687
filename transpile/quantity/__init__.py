"""What becomes of numbers when every process sees a share of the batch, for every framework."""
