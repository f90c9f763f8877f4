"""Runs the command line: ``python -m cloud`` is ``yaohe-cloud``."""

from __future__ import annotations

from cloud.cli import main

main()
