"""What is looked at once more before a conversion is handed over."""
