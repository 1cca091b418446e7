"""HKDF against RFC 5869's first test vector."""

from muster_runtime.agent.rendezvous.authentication import _expand, agrees, mac


def test_expand_matches_rfc_5869_case_1():
    key = bytes.fromhex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
    info = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9")
    assert _expand(key, info, 42).hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )


def test_a_code_depends_on_the_place_in_the_stream():
    assert mac(b"k", 0, b"body") != mac(b"k", 1, b"body")
    assert agrees(mac(b"k", 0, b"body"), mac(b"k", 0, b"body"))
    assert not agrees(b"a", b"b")
