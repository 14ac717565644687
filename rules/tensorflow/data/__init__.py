"""How large the batches are that the workers share."""
