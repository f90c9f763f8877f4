"""Signs that are read, and signs that are silent."""
