"""Runs the command line: ``python -m edge`` is ``yaohe-edge``."""

from __future__ import annotations

from edge.cli import main

main()
