"""Shows where this reader and wetext normalise a line differently (development only).

    python -m tests.tools.compare_wetext [FILE]

FILE holds one sentence a line; without it the cases are taken. wetext lives in the
environment of the peers (``make peers``). A difference is no fault by itself; it is
where a person should look.
"""

from __future__ import annotations

import sys
from pathlib import Path

from common.text import read
from tests.tools.peers import ask
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
    answers = ask("wetext", sentences)
    if answers is None:
        raise SystemExit("wetext is not installed: make peers")
    found: list[tuple[str, str, str]] = []
    for sentence, said in zip(sentences, answers.said, strict=True):
        ours, theirs = read(sentence).spoken, said["spoken"] if said else "(failed)"
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
