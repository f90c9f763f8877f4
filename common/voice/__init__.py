"""Speaking on the box: packs, their runtime, and the walk from symbols to sound."""
