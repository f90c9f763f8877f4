"""Runs the command line: ``python -m distill`` is ``yaohe-distill``."""

from __future__ import annotations

from distill.cli import main

main()
