"""Sound: its numbers, its codecs, its containers, and where it comes from."""
