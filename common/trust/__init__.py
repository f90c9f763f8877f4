"""Trust: who may sign what, and whether a signature holds.

Nothing in this package signs or holds a private key.
"""
