"""The random numbers of Unfold (include/unfold/numerics/random.h), so that the files that these scripts write do not
depend on the version of Python. Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, SC 2011."""

_LOW32 = 0xFFFFFFFF
_LOW64 = 0xFFFFFFFFFFFFFFFF


def stream_of(name):
    """Returns the number of a named stream: FNV-1a, followed by the finalizer of SplitMix64."""
    x = 0xCBF29CE484222325
    for byte in name.encode():
        x = (x ^ byte) * 0x100000001B3 & _LOW64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _LOW64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _LOW64
    return x ^ x >> 31


class Random:
    """One stream of 64-bit numbers."""

    def __init__(self, seed, name):
        stream = stream_of(name)
        self._stream = stream & _LOW32, stream >> 32
        keys = [(seed & _LOW32, seed >> 32)]
        for _ in range(9):
            keys.append((keys[-1][0] + 0x9E3779B9 & _LOW32, keys[-1][1] + 0xBB67AE85 & _LOW32))
        self._keys = keys
        self._position = 0

    def pair(self, n):
        """Returns the numbers 2 n and 2 n + 1 of the stream."""
        c0, c1 = n & _LOW32, n >> 32
        c2, c3 = self._stream
        for k0, k1 in self._keys:
            a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
            c0, c1, c2, c3 = b >> 32 ^ c1 ^ k0, b & _LOW32, a >> 32 ^ c3 ^ k1, a & _LOW32
        return c0 | c1 << 32, c2 | c3 << 32

    def _next(self):
        number = self.pair(self._position // 2)[self._position % 2]
        self._position += 1
        return number

    def below(self, n):
        """Returns an unbiased number from 0 to n - 1 (Lemire 2019)."""
        product = self._next() * n
        if product & _LOW64 < n:
            reject = (1 << 64) % n
            while product & _LOW64 < reject:
                product = self._next() * n
        return product >> 64


def uniform(bits):
    """Returns the number in [0, 1) of 64 random bits."""
    return (bits >> 11) * 2.0**-53
