"""Scripts as text: read, located, and edited by spans."""
