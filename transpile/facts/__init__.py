"""What the code says: an abstract run of the script that follows values."""
