"""An independent encoder of report bits and digests, written from docs/PROTOCOL.md; prints the golden values of the
tests.

    python3 tests/unit/wire/golden_report_codec.py
"""
import hashlib
import struct


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def absorb(frequencies, log2_total, symbol):
    frequencies[symbol] += (1 << log2_total) - sum(frequencies)
    return frequencies


def pattern_table(n, k):
    one = (k << 32) // n
    zero = (1 << 32) - one
    by_ones = []
    for c in range(9):
        p = 1 << 32
        for bit in range(8):
            p = p * (one if bit < c else zero) >> 32
        by_ones.append(max(1, (p + (1 << 16)) >> 17))
    return absorb([by_ones[bin(b).count("1")] for b in range(256)], 15, 0 if 2 * k <= n else 255)


def gap_table(n, k, low_bits):
    none = (1 << 32) - (k << 32) // n
    for _ in range(low_bits):
        none = none * none >> 32
    frequencies, tail = [], 1 << 32
    for s in range(128):
        following = tail * none >> 32
        p = tail if s == 127 else tail - following
        frequencies.append(max(1, (p + (1 << 17)) >> 18))
        tail = following
    return absorb(frequencies, 14, 0)


def rans(frequencies, log2_total, symbols, lanes):
    if not symbols:
        return b""
    starts = [sum(frequencies[:s]) for s in range(len(frequencies))]
    states, words = [1 << 31] * lanes, []
    for i in reversed(range(len(symbols))):
        f, start, x = frequencies[symbols[i]], starts[symbols[i]], states[i % lanes]
        if x >= (1 << 63 - log2_total) * f:
            words.append(x & 0xFFFFFFFF)
            x >>= 32
        states[i % lanes] = (x // f << log2_total) + x % f + start
    return b"".join(struct.pack("<Q", x) for x in states) + b"".join(struct.pack("<I", w) for w in reversed(words))


def gaps(bits, k):
    n = len(bits)
    if k == 0:
        return b""
    low_bits = (n // k).bit_length() - 4
    symbols, low, position = [], "", 0
    for j in range(n):
        if not bits[j]:
            continue
        gap, position = j - position, j + 1
        high = gap >> low_bits
        symbols += [127] * (high // 127) + [high % 127]
        low = format(gap % (1 << low_bits), f"0{low_bits}b") + low
    low_bytes = int(low, 2).to_bytes((len(low) + 7) // 8, "little")
    return low_bytes + rans(gap_table(n, k, low_bits), 14, symbols, 1)


def encode(bits):
    n, k = len(bits), sum(bits)
    rarer = min(k, n - k)
    packed = sum(b << j for j, b in enumerate(bits)).to_bytes((n + 7) // 8, "little")
    if n <= 256 or rarer * 32 >= n * 15:
        return b"\x10" + varint(k) + packed
    if rarer * 32 >= n:
        return b"\x14" + varint(k) + rans(pattern_table(n, k), 15, packed, 4)
    if rarer == k:
        return b"\x12" + varint(k) + gaps(bits, k)
    return b"\x13" + varint(k) + gaps([1 - b for b in bits], n - k)


def own_pairs(node, n):
    """The other ends of the pairs that `node` reports with mechanism 2."""
    return [j for j in range(n) if j != node and (min if (node + j) % 2 == 0 else max)(node, j) == node]


def digest(epsilon_micro, share_ppm, n, degree, coded, mechanism=1):
    content = b"blink report 1\n" + struct.pack("<QQQQ", mechanism, epsilon_micro, share_ppm, n)
    content += struct.pack("<Qq", degree is not None, degree or 0)
    content += struct.pack("<Q", len(coded)) + coded
    return hashlib.sha256(content).hexdigest()


def quadratic_row(n, step):
    """Bit j is 1 where j * j mod 1009 is a multiple of `step`."""
    return [int(j * j % 1009 % step == 0) for j in range(n)]


def groups_digest(n, count, groups):
    coded = b"".join(struct.pack("<H", group) for group in groups)
    return hashlib.sha256(b"blink groups 1\n" + struct.pack("<QQ", n, count) + coded).digest()


def group_degrees(numbers):
    return b"".join(varint(2 * number if number >= 0 else -2 * number - 1) for number in numbers)


def digest_of_answer(epsilon_micro, n, count, question, coded):
    head = b"blink report 1\n" + struct.pack("<QQQQQ", 3, epsilon_micro, 0, n, count) + question
    return hashlib.sha256(head + struct.pack("<QQQ", 0, 0, len(coded)) + coded).hexdigest()


if __name__ == "__main__":
    rows = {
        "ten bits": quadratic_row(10, 2),
        "packed, 300": quadratic_row(300, 2),
        "patterns, 300": quadratic_row(300, 4),
        "gaps of ones, 500": quadratic_row(500, 60),
        "gaps of zeros, 500": [1 - b for b in quadratic_row(500, 60)],
        "one one, 40000": [int(j == 39999) for j in range(40000)],
        "leading ones, 3100": [int(j in range(96)) for j in range(3100)],
        "no one, 300": [0] * 300,
        "ones only, 300": [1] * 300,
    }
    for name, bits in rows.items():
        coded = encode(bits)
        print(f"{name}: {coded.hex() if len(coded) <= 120 else hashlib.sha256(coded).hexdigest() + ' (SHA-256)'}")
    print("digest:", digest(6_000_000, 100_000, 10, -3, encode(quadratic_row(10, 2))))
    print("own pairs of node 4 of 10:", own_pairs(4, 10))
    print("digest with mechanism 2:", digest(6_000_000, 100_000, 10, -3, encode([1, 0, 0, 1]), mechanism=2))
    question, answer = groups_digest(10, 3, [i % 3 for i in range(10)]), group_degrees([4, -1, 300])
    print("groups of mechanism 3:", question.hex())
    print("answer and digest with mechanism 3:", answer.hex(), digest_of_answer(2_000_000, 10, 3, question, answer))
    print("digest without degree:", digest(6_000_000, 0, 10, None, encode(quadratic_row(10, 2))))
