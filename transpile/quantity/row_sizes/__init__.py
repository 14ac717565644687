"""How long the rows of samples are, followed from the data to where they are cut anew."""
