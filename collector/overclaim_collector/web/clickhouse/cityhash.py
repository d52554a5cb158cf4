"""CityHash128 of version 1.0.2, by which ClickHouse marks its compressed blocks; later versions give other numbers.

After Google's city.cc (MIT License, Geoff Pike and Jyrki Alakuijala). No package of it is among our dependencies, and
blocks are hashed after they were compressed.
"""

from __future__ import annotations

import struct
from typing import Final

_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F
_K3: Final = 0xC949D7C7509E6557
_MUL: Final = 0x9DDFEA08EB382D69
_MASK: Final = (1 << 64) - 1
_QUAD: Final = struct.Struct("<4Q")
_EIGHT: Final = struct.Struct("<8Q")

_Pair = tuple[int, int]


def cityhash128(data: bytes) -> bytes:
    """The hash of at least 8 bytes, as ClickHouse writes it; no block is shorter."""
    size = len(data)
    if size < 16:
        seed, rest = (_word(data, 0) ^ size * _K0 & _MASK, _word(data, size - 8) ^ _K1), b""
    else:
        seed, rest = (_word(data, 0) ^ _K3, _word(data, 8)), data[16:]
    low, high = _murmur(rest, seed) if len(rest) < 128 else _long(rest, seed)
    return struct.pack("<QQ", low, high)


def _long(data: bytes, seed: _Pair) -> _Pair:
    x, y = seed
    z = len(data) * _K1 & _MASK
    v0 = _rotate(y ^ _K1, 49) * _K1 + _word(data, 0) & _MASK
    v = v0, _rotate(v0, 42) * _K1 + _word(data, 8) & _MASK
    w = _rotate(y + z & _MASK, 35) * _K1 + x & _MASK, _rotate(x + _word(data, 88) & _MASK, 53) * _K1 & _MASK
    whole = len(data) // 128 * 128
    for words in _EIGHT.iter_unpack(data[:whole]):
        x, y, z, v, w = _mixed(words, x, y, z, v, w)
    y = y + _rotate(w[0], 37) * _K0 + z & _MASK
    x = x + _rotate(v[0] + z & _MASK, 49) * _K0 & _MASK
    return _tail(data, len(data) - whole, x, y, v, w)


def _mixed(words: tuple[int, ...], x: int, y: int, z: int, v: _Pair, w: _Pair) -> tuple[int, int, int, _Pair, _Pair]:
    """The state after 64 more bytes."""
    x = _rotate(x + y + v[0] + words[2] & _MASK, 37) * _K1 & _MASK
    y = _rotate(y + v[1] + words[6] & _MASK, 42) * _K1 & _MASK
    x ^= w[1]
    y ^= v[0]
    z = _rotate(z ^ w[0], 33)
    v = _weak(words[:4], v[1] * _K1, x + w[0])
    w = _weak(words[4:], z + w[1], y)
    return z, y, x, v, w


def _tail(data: bytes, left: int, x: int, y: int, v: _Pair, w: _Pair) -> _Pair:
    """Take in what is left over, in pieces of 32 bytes from the end, and close."""
    for done in range(32, left + 32, 32):
        words = _QUAD.unpack_from(data, len(data) - done)
        y = _rotate(y - x & _MASK, 42) * _K0 + v[1] & _MASK
        w = w[0] + words[2] & _MASK, w[1]
        x = _rotate(x, 49) * _K0 + w[0] & _MASK
        w = w[0] + v[0] & _MASK, w[1]
        v = _weak(words, *v)
    x, y = _both(x, v[0]), _both(y, w[0])
    return _both(x + v[1], w[1]) + y & _MASK, _both(x + w[1], y + v[1])


def _murmur(data: bytes, seed: _Pair) -> _Pair:
    """The hash of less than 128 bytes."""
    a, b = seed
    size = len(data)
    if size <= 16:
        a = _shifted(a * _K1 & _MASK) * _K1 & _MASK
        c = b * _K1 + _short(data) & _MASK
        d = _shifted(a + (_word(data, 0) if size >= 8 else c) & _MASK)
    else:
        c = _both(_word(data, size - 8) + _K1, a)
        d = _both(b + size, c + _word(data, size - 16))
        a = a + d & _MASK
        for place in range(0, size - 16, 16):
            a = (a ^ _shifted(_word(data, place) * _K1 & _MASK) * _K1) * _K1 & _MASK
            b ^= a
            c = (c ^ _shifted(_word(data, place + 8) * _K1 & _MASK) * _K1) * _K1 & _MASK
            d ^= c
    a, b = _both(a, c), _both(d, b)
    return a ^ b, _both(b, a)


def _short(data: bytes) -> int:
    """The hash of at most 16 bytes."""
    size = len(data)
    if size > 8:
        last = _word(data, size - 8)
        return _both(_word(data, 0), _rotate(last + size & _MASK, size)) ^ last
    if size >= 4:
        first, last = (int.from_bytes(part, "little") for part in (data[:4], data[-4:]))
        return _both(size + (first << 3), last)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _shifted((y * _K2 ^ z * _K3) & _MASK) * _K2 & _MASK
    return _K2


def _weak(words: tuple[int, ...], a: int, b: int) -> _Pair:
    """Mix 32 bytes into two words."""
    first, second, third, fourth = words
    a += first
    b = _rotate(b + a + fourth & _MASK, 21)
    c = a
    a += second + third
    b += _rotate(a & _MASK, 44)
    return a + fourth & _MASK, b + c & _MASK


def _both(low: int, high: int) -> int:
    """Two words as one."""
    low, high = low & _MASK, high & _MASK
    a = _shifted((low ^ high) * _MUL & _MASK)
    return _shifted((high ^ a) * _MUL & _MASK) * _MUL & _MASK


def _shifted(word: int) -> int:
    return word ^ word >> 47


def _rotate(word: int, by: int) -> int:
    return (word >> by | word << 64 - by) & _MASK


def _word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 8], "little")
