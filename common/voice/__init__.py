"""Speaking on the box: packs, the runtime they run on, and the walk from symbols to sound."""
