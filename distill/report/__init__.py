"""The report of a voice: what was measured, against what it has to reach."""
