"""The box in the shop: it speaks from its cache or its own voice, with no network."""
