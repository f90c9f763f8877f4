"""Streaming speech over one socket, the same on both tiers and for any framework."""
