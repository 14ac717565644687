"""The language server: what findings are in an editor, and the server that says so."""
