"""Judging speech: a recogniser listens, in an environment of its own."""
