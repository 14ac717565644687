"""What all ranks of a Paddle job must decide alike."""
