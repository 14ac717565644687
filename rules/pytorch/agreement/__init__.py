"""What all ranks of a PyTorch job must decide, name, order and hold alike."""
