"""Shows where this reader and wetext normalise a line differently (development only).

    python -m tests.tools.compare_wetext [FILE]

FILE holds one sentence a line; without it the cases are taken. wetext is not a
dependency: install it into a development environment. A difference is no fault by
itself; it is where a person should look.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from common.text import read
from tests.tools.reading import heard, rows


def differences(sentences: list[str]) -> list[tuple[str, str, str]]:
    """Compare both on some sentences.

    Args:
        sentences: Lines of signage.

    Returns:
        Sentence, our spoken form and wetext's, where they differ.

    Raises:
        SystemExit: wetext is not installed.
    """
    try:
        wetext = importlib.import_module("wetext")
    except ImportError:
        raise SystemExit("wetext is not installed: pip install wetext") from None
    peer = wetext.Normalizer(lang="zh", traditional_to_simple=True, full_to_half=True)
    found: list[tuple[str, str, str]] = []
    for sentence in sentences:
        ours, theirs = read(sentence).spoken, peer.normalize(sentence)
        if heard(ours) != heard(theirs):
            found.append((sentence, ours, theirs))
    return found


def main(arguments: list[str]) -> int:
    """Print a table of differences.

    Args:
        arguments: At most one file.

    Returns:
        Exit status, 0.
    """
    if arguments:
        sentences = Path(arguments[0]).read_text("utf-8").splitlines()
    else:
        sentences = [row["text"] for row in rows("frontend/tn")]
    found = differences(sentences)
    for sentence, ours, theirs in found:
        sys.stdout.write(f"{sentence}\n  here    {ours}\n  wetext  {theirs}\n")
    sys.stdout.write(f"{len(found)} of {len(sentences)} differ\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
