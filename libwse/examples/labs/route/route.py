#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs route.c's kernel on 2 x 2 cores, and compares y with W x: route.py DEVICE route.elf"""
import sys
from array import array

import wse

N = 8
BLOCK = N * N + 3 * N  # floats of a core: W, x, room, y


def main(uri, program):
    w = [[(3 * i + 5 * k) % 7 - 3 for k in range(2 * N)] for i in range(2 * N)]
    x = [k % 5 - 2 for k in range(2 * N)]
    want = [sum(a * b for a, b in zip(row, x)) for row in w]
    floats = []
    for r in range(2):
        for c in range(2):
            part = [w[r * N + i][c * N + k] for i in range(N) for k in range(N)]
            floats += part + x[c * N : c * N + N] + [0] * 2 * N
    with wse.Device(uri) as device, device.context() as context:
        prog = context.load(program)
        data = device.buffer(4 * 4 * BLOCK)
        data.array("f32", (4 * BLOCK,)).assign(array("f", floats))
        where = {"buf": data, "rows": 2, "cols": 2, "sram": (prog.end + 15) & ~15}
        where |= {"len": 4 * BLOCK, "cstride": 4 * BLOCK, "rstride": 8 * BLOCK}
        start = wse.start(
            rows=2,
            cols=2,
            entry=prog.symbol("route"),
            arg=[0x80000000 + where["sram"]],
            closed=1,
        )
        context.run([wse.copy_in(**where), start, wse.copy_out(**where)])
        cores = data.array("f32", (4, BLOCK)).tolist()
    y = [int(v) for r in range(2) for v in cores[2 * r + 1][-N:]]  # of the east column
    print("y    ", *y)
    print("W x  ", *want)
    print("equal" if y == want else "not equal")
    return y != want


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except wse.Error as e:
        sys.exit(str(e))
