# SPDX-License-Identifier: MIT
"""Numbers in memory that is shared without a copy: memoryview, numpy's interface, DLPack in both
directions."""
import ctypes
from typing import Any, Dict, Sequence, Tuple

# name: format of memoryview, bytes, numpy's type, DLPack's code (0 int, 1 uint, 2 float, 4 bfloat)
_TYPES: Dict[str, Tuple[str, int, str, int]] = {
    "u8": ("B", 1, "|u1", 1),
    "u16": ("H", 2, "<u2", 1),
    "u32": ("I", 4, "<u4", 1),
    "u64": ("Q", 8, "<u8", 1),
    "i16": ("h", 2, "<i2", 0),
    "i32": ("i", 4, "<i4", 0),
    "i64": ("q", 8, "<i8", 0),
    "f32": ("f", 4, "<f4", 2),
    "f64": ("d", 8, "<f8", 2),
    "bf16": ("H", 2, "<u2", 4),
}  # which neither memoryview nor numpy has: its bits


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]

_CPU = (1, 0)
_python = ctypes.pythonapi
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = _python.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR]
# the same calls on an object, and on one that is being freed
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _python)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_SetName", _python)
)

# what consumers of capsules have: the struct's address, and what keeps the memory
_given: Dict[int, Any] = {}
_USED = b"used_dltensor"


@_DELETER
def _delete(managed: Any) -> None:
    _given.pop(ctypes.addressof(managed.contents), None)


@_DESTRUCTOR
def _unused(capsule: int) -> None:
    """A capsule that was not taken."""
    if _valid(capsule, b"dltensor"):
        _given.pop(_pointer(capsule, b"dltensor"), None)


def mapped(address: int, size: int) -> Any:
    """Memory at an address, as a ctypes array that takes attributes and weak references."""
    memory: Any = type("Memory", (ctypes.c_uint8 * size,), {})
    return memory.from_address(address)


class Array:
    """
    Numbers of one type and a shape, row-major, in memory of another object, which stays as long as
    this refers to it.

    numpy.asarray(a) and torch.from_dlpack(a) take it without a copy, memoryview: a.view. Types are
    u8, u16, u32, u64, i16, i32, i64, f32, f64 and bf16; memoryview and numpy, which do not know
    bf16, have its bits as u16.
    """

    def __init__(self, memory: Any, dtype: str, shape: Sequence[int], offset: int = 0) -> None:
        if dtype not in _TYPES:
            raise ValueError(f"dtype '{dtype}' is none of {', '.join(_TYPES)}")
        form, width, _, _ = _TYPES[dtype]
        self.dtype, self.shape = dtype, tuple(int(n) for n in shape)
        size = width
        for n in self.shape:
            if n < 1:
                raise ValueError(f"shape {self.shape}: every length is at least 1")
            size *= n
        whole = memoryview(memory).cast("B")
        if offset < 0 or offset + size > len(whole):
            raise ValueError(
                f"{size} bytes from {offset} on are not in memory of {len(whole)} bytes"
            )
        self._bytes = whole[offset : offset + size]
        #: a memoryview of that shape
        self.view = self._bytes.cast(form, self.shape)  # type: ignore[call-overload]

    def __buffer__(self, _: int) -> memoryview:  # Python 3.12 on
        return self.view

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: Any) -> Any:
        return self.view[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self.view[at] = value

    def __repr__(self) -> str:
        return f"<wse.Array {self.dtype} {list(self.shape)}>"

    def tolist(self) -> Any:
        return self.view.tolist()

    def tobytes(self) -> bytes:
        return self._bytes.tobytes()

    def assign(self, numbers: Any) -> None:
        """Copies as many numbers of the same type from anything with the buffer protocol or
        DLPack."""
        source = numbers_of(numbers, self.dtype)
        if len(source) != len(self._bytes):
            raise ValueError(
                f"{len(source)} bytes were given for the {len(self._bytes)} of {self!r}"
            )
        self._bytes[:] = source

    def _address(self) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(self._bytes))

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": _TYPES[self.dtype][2],
            "data": (self._address(), False),
            "version": 3,
        }

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CPU

    def __dlpack__(self, **_: Any) -> Any:
        width, code = _TYPES[self.dtype][1], _TYPES[self.dtype][3]
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        managed: Any = _Managed()
        managed.tensor = _DLTensor(
            self._address(), *_CPU, len(self.shape), code, 8 * width, 1, shape, None, 0
        )
        managed.deleter = _delete
        _given[ctypes.addressof(managed)] = managed, shape, self._bytes
        return _new(ctypes.addressof(managed), b"dltensor", _unused)


class _Taken:
    """The tensor of a foreign capsule, given back at the end."""

    def __init__(self, capsule: Any) -> None:
        if not _valid(id(capsule), b"dltensor"):
            raise TypeError("this DLPack capsule was taken before, or is none")
        self.managed = ctypes.cast(_pointer(id(capsule), b"dltensor"), ctypes.POINTER(_Managed))
        _rename(id(capsule), _USED)

    def __enter__(self) -> _DLTensor:
        tensor: _DLTensor = self.managed.contents.tensor
        return tensor

    def __exit__(self, *_: Any) -> None:
        if self.managed.contents.deleter:
            self.managed.contents.deleter(self.managed)


def _dlpack_bytes(capsule: Any, dtype: str) -> bytes:
    width, code = _TYPES[dtype][1], _TYPES[dtype][3]
    with _Taken(capsule) as t:
        if t.device_type != _CPU[0]:
            raise ValueError("the tensor is not in the host's memory: .cpu() copies it there")
        if (t.code, t.bits, t.lanes) != (code, 8 * width, 1):
            raise TypeError(
                f"{dtype} is expected, and this is a tensor of another type: convert it first"
            )
        n = 1
        for i in range(t.ndim - 1, -1, -1):
            if t.strides and t.shape[i] != 1 and t.strides[i] != n:
                raise ValueError(
                    "the tensor is not row-major in one piece: .contiguous() copies it so"
                )
            n *= t.shape[i]
        return ctypes.string_at(t.data + t.byte_offset, n * width)


def numbers_of(numbers: Any, dtype: str) -> memoryview:
    """The bytes of numbers of that type: an Array, a buffer, or a DLPack tensor (which is
    copied)."""
    if isinstance(numbers, Array):
        if numbers.dtype != dtype:
            raise TypeError(f"{dtype} is expected, not {numbers.dtype}")
        return numbers._bytes
    try:
        view = memoryview(numbers)
    except TypeError:
        if not hasattr(numbers, "__dlpack__"):
            raise TypeError(
                f"a {type(numbers).__name__} has neither the buffer protocol nor DLPack: "
                f"array.array('{_TYPES[dtype][0]}', ...) makes numbers of a list"
            ) from None
        return memoryview(_dlpack_bytes(numbers.__dlpack__(), dtype))
    form, width = _TYPES[dtype][:2]
    if view.format.lstrip("<=@") != form and not (
        view.itemsize == width and dtype == "u64" and view.format == "L"
    ):
        raise TypeError(f"{dtype} ('{form}') is expected, not numbers of format '{view.format}'")
    return (view if view.c_contiguous else memoryview(view.tobytes())).cast("B")
