"""Byte literals that explain themselves: hex digits, and after ``#`` what they are."""
from __future__ import annotations


def octets(text: str) -> bytes:
    """
    >>> octets('''0102  # two bytes
    ...           03    # and one''')
    b'\\x01\\x02\\x03'
    """
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))


def patched(payload: bytes, at: int, new: str) -> bytes:
    """The payload with the bytes at ``at`` replaced by hex digits."""
    replacement = bytes.fromhex(new)
    return payload[:at] + replacement + payload[at + len(replacement) :]
