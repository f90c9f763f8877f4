"""Packs that come to a box: received, checked, tried, switched, or refused."""
