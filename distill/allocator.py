"""Keep freed memory in the process, since training frees and takes the same again.

glibc hands large blocks back to the system at once; each step then faults in hundreds
of megabytes of fresh pages. Measured while the first voice was trained: a third of the
machine's time went there, and a thirtieth once the memory was kept.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 2**31 - 1
"""Largest block, and largest free end of the heap, that stay in the process."""


def keep_memory() -> bool:
    """Tell the C library to keep freed memory.

    Returns:
        Whether it agreed; another C library than glibc is left as it is.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kinds = (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD)
    return all(mallopt(kind, KEPT_BYTES) == 1 for kind in kinds)
