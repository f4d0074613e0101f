"""The two Bloom filters of Milvus' primary-key statistics."""
from collections.abc import Iterable

def basic_contains(data: bytes, key: bytes, hash_count: int) -> bool:
    """Whether a basic filter may hold a key."""

def basic_filter(keys: Iterable[bytes], bit_count: int, hash_count: int) -> bytes:
    """The bytes of a basic filter. ValueError for fewer than one bit."""

def blocked_contains(data: bytes, hashed: int, hash_count: int) -> bool:
    """Whether a blocked filter may hold the key with this XXH3-64 hash."""

def blocked_filter(hashes: Iterable[int], block_count: int, hash_count: int) -> bytes:
    """The bytes of a blocked filter over XXH3-64 hashes. ValueError for fewer than one block."""
