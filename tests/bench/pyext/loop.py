"""Prints the seconds that a call of copy takes, loop included: loop.py object|class ROUNDS, or with the path of a
runtime library: loop.py object ROUNDS LIBRARY, until all copies are done."""
import sys
import time

import npuext


class Buffer:
    __slots__ = ("ptr", "count", "bytes", "dtype", "device", "pinned", "closed")

    def __init__(self, count, device):
        self.ptr, self.count, self.bytes, self.dtype = 0x1000, count, count * 4, "float32"
        self.device, self.pinned, self.closed = device, device < 0, False


class Stream:
    """The thin object over flat functions that Python programs write on top of pyACL."""

    __slots__ = ("handle", "device", "closed")

    def __init__(self, device):
        self.handle, self.device, self.closed = 0x2000, device, False

    def copy(self, dst, src):
        if self.closed or dst.closed or src.closed:
            raise ValueError("closed handle")
        if dst.dtype != src.dtype or dst.count != src.count:
            raise ValueError("type or count differs")
        kind = 3
        if src.device < 0:
            kind = 1
            if not src.pinned:
                raise ValueError("source is pageable")
        if dst.device < 0:
            if kind == 1 or not dst.pinned:
                raise ValueError("destination is host memory")
            kind = 2
        if dst.device != self.device and src.device != self.device:
            raise ValueError("buffer of another device")
        ret = npuext.memcpy_async(dst.ptr, dst.bytes, src.ptr, src.bytes, kind, self.handle)
        if ret != 0:
            raise RuntimeError(f"aclrtMemcpyAsync: {ret}")


def main():
    rounds = int(sys.argv[2])
    if len(sys.argv) > 3:
        npuext.use_library(sys.argv[3])
    if sys.argv[1] == "object":
        s, d, h = npuext.Stream(0), npuext.Buffer(1024, 0), npuext.Buffer(1024, -1)
    else:
        s, d, h = Stream(0), Buffer(1024, 0), Buffer(1024, -1)
    start = time.perf_counter()
    for _ in range(rounds):
        for _ in range(1000):
            s.copy(d, h)
    if sys.argv[1] == "object":
        s.synchronize()
    print((time.perf_counter() - start) / (rounds * 1000))


main()
