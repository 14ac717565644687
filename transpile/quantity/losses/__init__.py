"""What losses make of the quantities that they are given."""
