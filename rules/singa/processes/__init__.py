"""Starting processes, and what each of them is."""
