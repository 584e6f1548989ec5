#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel of one's own, add_id.c of libwse/examples, on all cores of a device:

    kernel.py DEVICE add_id.elf
"""
import sys

import wse


def main(uri, program):
    with wse.Device(uri) as device, device.context() as context:
        rows, cols = device.info.rows, device.info.cols
        prog = context.load(program)
        out = device.buffer(8 * rows * cols)
        at = prog.end  # free SRAM begins here
        context.run(
            [
                wse.start(
                    rows=rows,
                    cols=cols,
                    entry=prog.symbol("add_id"),
                    arg=[0x80000000 + at, 1000],
                    closed=1,
                ),
                wse.copy_out(
                    buf=out, rows=rows, cols=cols, sram=at, len=8, cstride=8, rstride=8 * cols
                ),
            ]
        )
        for row in out.array("u32", (rows, cols, 2)).tolist():
            print(*(core[0] for core in row))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except wse.Error as e:
        sys.exit(str(e))
