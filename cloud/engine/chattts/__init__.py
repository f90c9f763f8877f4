"""ChatTTS's architecture as an engine that many share: see ``engine.py``."""

import os

KERNELS = 64
"""Kernels that oneDNN keeps, in each of its two caches.

It compiles one for every shape that it meets and keeps 1024 by default, about 200 KB
each. Batches come in all sizes and few are in use at one time; without this memory grew
by 200 KB a request for hours.
"""

# Read when the first kernel is compiled; whoever set them knows better.
for _name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_name, str(KERNELS))
