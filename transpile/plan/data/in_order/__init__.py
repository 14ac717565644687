"""Data sets that give what comes next, and what they keep of what they gave."""
