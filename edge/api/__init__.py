"""The box's door on the shop's network."""
