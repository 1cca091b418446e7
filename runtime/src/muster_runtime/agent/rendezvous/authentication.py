"""Keys and message authentication codes: HKDF (RFC 5869) and HMAC-SHA-256. Pure."""

from __future__ import annotations

import hmac

MAC_SIZE = 32
"""Bytes of a message authentication code."""
NONCE_SIZE = 16
"""Bytes of a nonce."""

_SALT = b"muster rendezvous"
_HASH = "sha256"


def job_key(secret: str | None, job: str, attempt: int) -> bytes:
    """Derive the key that the nodes of one attempt of one job share.

    Args:
        secret: the job's secret; without one, job id and attempt stand in for it, which keeps out
            other jobs but nobody who knows them.
        job: job id without a node's suffix.
        attempt: from 1.
    """
    identity = f"{len(job)}:{job}:{attempt}".encode()
    material = secret.encode("utf-8", "surrogateescape") if secret else identity
    return _expand(_extract(material), b"job:" + identity, MAC_SIZE)


def session_keys(key: bytes, member_nonce: bytes, coordinator_nonce: bytes) -> tuple[bytes, bytes]:
    """Derive the keys of one connection: (member to coordinator, coordinator to member)."""
    both = _expand(key, b"session:" + member_nonce + coordinator_nonce, 2 * MAC_SIZE)
    return both[:MAC_SIZE], both[MAC_SIZE:]


def mac(key: bytes, sequence: int, body: bytes) -> bytes:
    """Authenticate a message at its place in the stream, so that none can be replayed or left out."""
    return hmac.digest(key, sequence.to_bytes(8, "big") + body, _HASH)


def agrees(one: bytes, other: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one, other)


def _extract(material: bytes) -> bytes:
    return hmac.digest(_SALT, material, _HASH)


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    block, output, counter = b"", b"", 1
    while len(output) < length:
        block = hmac.digest(key, block + info + bytes([counter]), _HASH)
        output += block
        counter += 1
    return output[:length]
