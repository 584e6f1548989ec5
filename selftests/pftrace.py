# SPDX-License-Identifier: MIT
"""A reader of timelines (*.pftrace, Perfetto's protobuf) for tests, independent of the writer."""
import collections


def fields(b):
    """A protobuf message: (number, value) with ints for varints and bytes for parts."""
    i = 0

    def varint():
        nonlocal i
        v = shift = 0
        while True:
            v |= (b[i] & 0x7F) << shift
            shift += 7
            i += 1
            if b[i - 1] < 0x80:
                return v

    while i < len(b):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            n = varint()
            assert i + n <= len(b), "a part beyond its message"
            yield key >> 3, b[i : i + n]
            i += n
        else:
            raise ValueError(f"wire type {key & 7}")


def one(b, number, default=None):
    return next((v for n, v in fields(b) if n == number), default)


def read(path):
    """
    {(process, track): [(begin, end, name)]}, and whether slices follow each other; what has no
    length ends where it begins
    """
    processes, tracks, names, slices = {}, {}, {}, collections.defaultdict(list)
    in_order, open_at, flags = True, {}, []
    with open(path, "rb") as f:
        trace = f.read()
    for number, packet in fields(trace):
        assert number == 1
        flags.append(one(packet, 13))
        assert one(packet, 10) == 1
        track, event, interned = one(packet, 60), one(packet, 11), one(packet, 12)
        if track:
            process, thread = one(track, 3), one(track, 4)
            if process:
                processes[one(process, 1)] = one(process, 6).decode()
            else:
                tracks[one(track, 1)] = one(thread, 1), one(thread, 5).decode()
        if interned:
            entry = one(interned, 2)
            names[one(entry, 1)] = one(entry, 2).decode()
        if event:
            at, uuid, kind = one(packet, 8), one(event, 11), one(event, 9)
            if kind == 2:
                begin, name = open_at.pop(uuid)
                in_order &= begin <= at
                slices[uuid].append((begin, at, name))
                continue
            assert kind in (1, 3)
            in_order &= uuid not in open_at
            if slices[uuid]:
                in_order &= at >= slices[uuid][-1][1]
            name = names[one(event, 10)]
            if kind == 1:
                open_at[uuid] = at, name
            else:
                slices[uuid].append((at, at, name))
    in_order &= not open_at and flags[0] == 3 and set(flags[1:]) == {2}
    return {(processes[tracks[u][0]], tracks[u][1]): slices[u] for u in tracks}, in_order
