"""Bytes as Chinese characters: the text form of speaker vectors.

Seven bytes are 56 bits, which are four characters of 14 bits each, counted from U+4E00.
A last group of fewer bytes is filled up with zero bits, loses the characters that hold
nothing else, and is followed by U+3D00 plus the number of its bytes.
"""

from __future__ import annotations

from common.errors import YaoheError

FIRST = 0x4E00
"""The character that stands for zero."""
TAIL = 0x3D00
"""The character after a last group of n bytes is this one plus n."""
GROUP_BYTES, GROUP_CHARACTERS, CHARACTER_BITS = 7, 4, 14

_MASK = (1 << CHARACTER_BITS) - 1


def encode(raw: bytes) -> str:
    """Write bytes as text.

    Args:
        raw: Any bytes.

    Returns:
        Characters from U+4E00 to U+8DFF, and one from U+3D01 to U+3D06 at the end
        where the bytes do not fill the last group.
    """
    tail = len(raw) % GROUP_BYTES
    padded = raw + bytes(-len(raw) % GROUP_BYTES)
    characters: list[str] = []
    for start in range(0, len(padded), GROUP_BYTES):
        bits = int.from_bytes(padded[start : start + GROUP_BYTES], "big")
        characters.extend(
            chr(FIRST + (bits >> shift & _MASK)) for shift in (42, 28, 14, 0)
        )
    if tail:
        del characters[len(characters) - GROUP_CHARACTERS + _characters(tail) :]
        characters.append(chr(TAIL + tail))
    return "".join(characters)


def decode(text: str) -> bytes:
    """Read what :func:`encode` wrote.

    Args:
        text: The characters, nothing around them.

    Returns:
        The bytes.

    Raises:
        YaoheError: ``invalid_request``: a character outside the alphabet, a wrong
            number of characters, or a bit that is set where none can be.
    """
    tail = ord(text[-1]) - TAIL if text else 0
    is_whole = not 0 < tail < GROUP_BYTES
    values = [ord(character) - FIRST for character in (text if is_whole else text[:-1])]
    if any(value >> CHARACTER_BITS for value in values):
        raise _invalid("has a character outside the alphabet")
    left = len(values) % GROUP_CHARACTERS
    if left != (0 if is_whole else _characters(tail) % GROUP_CHARACTERS):
        raise _invalid("is cut off")
    values += [0] * (-len(values) % GROUP_CHARACTERS)
    raw = bytearray()
    for start in range(0, len(values), GROUP_CHARACTERS):
        bits = 0
        for value in values[start : start + GROUP_CHARACTERS]:
            bits = bits << CHARACTER_BITS | value
        raw += bits.to_bytes(GROUP_BYTES, "big")
    if is_whole:
        return bytes(raw)
    filled = GROUP_BYTES - tail
    if not raw or any(raw[-filled:]):
        raise _invalid("does not end where its last character says")
    return bytes(raw[:-filled])


def _characters(count: int) -> int:
    """Characters that so many bytes of a last group need."""
    return -(-count * 8 // CHARACTER_BITS)


def _invalid(what: str) -> YaoheError:
    """The error for a text."""
    return YaoheError("invalid_request", f"the text form {what}")
