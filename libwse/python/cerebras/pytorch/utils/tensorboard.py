# SPDX-License-Identifier: MIT
"""Event files of TensorBoard, without its package: scalars."""
import ctypes
import os
import struct
import time
from typing import Any, List, Optional


def _table() -> List[int]:
    out = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        out.append(n)
    return out


_TABLE = _table()


def _masked(data: bytes) -> bytes:
    """The CRC-32C of a record's part, as TFRecord has it."""
    crc = 0xFFFFFFFF
    for b in data:
        crc = _TABLE[(crc ^ b) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(n: int) -> bytes:
    n &= 2**64 - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


class SummaryWriter:
    """A file in log_dir, which is made; add_scalar() adds to it."""

    _files = 0

    def __init__(self, log_dir: Any = "runs", base_step: int = 0, **_: Any) -> None:
        self.log_dir, self.base_step = os.fspath(log_dir), base_step
        os.makedirs(self.log_dir, exist_ok=True)
        SummaryWriter._files += 1
        name = f"events.out.tfevents.{int(time.time()):010d}.{os.getpid()}.{SummaryWriter._files}"
        # pylint: disable-next=consider-using-with
        self._file: Any = open(os.path.join(self.log_dir, name), "xb")
        self._event(_bytes(3, b"brain.Event:2"))

    def _event(self, what: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + what
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))
        self._file.flush()

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Optional[int] = None, **_: Any
    ) -> None:
        """A number, or a tensor of one; what is beyond binary32 is infinite there."""
        if self._file is None:
            raise ValueError(f"the writer of {self.log_dir} is closed")
        number = ctypes.c_float(scalar_value).value
        value = _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", number)
        step = _varint(int(global_step or 0) + self.base_step)
        self._event(b"\x10" + step + _bytes(5, _bytes(1, value)))

    def flush(self) -> None:
        """Each event is in the file."""

    def close(self) -> None:
        """The end of it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> "SummaryWriter":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
