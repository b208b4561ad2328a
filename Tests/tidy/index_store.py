"""Reads the index that the compiler writes with -index-store-path: which declarations exist and where they are used.

The library that reads it, libIndexStore, is part of the Swift toolchain; its C interface is LLVM's indexstore.h."""

import ctypes
import dataclasses
import pathlib

DEFINITION = 1 << 1
REFERENCE = 1 << 2
IMPLICIT = 1 << 8


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode() if self.length else ""


@dataclasses.dataclass(frozen=True)
class Occurrence:
    file: str  # base name
    line: int
    column: int
    name: str
    usr: str  # the compiler's name of a declaration: c:@F@read, s:11RunLoopCore…
    roles: int

    @property
    def is_definition(self):
        return bool(self.roles & DEFINITION)

    @property
    def is_reference(self):
        return bool(self.roles & REFERENCE)


def library(toolchain):
    lib = ctypes.CDLL(str(toolchain / "lib" / "libIndexStore.so"))
    pointer = ctypes.c_void_p
    for name, result, arguments in [
        ("store_create", pointer, [ctypes.c_char_p, ctypes.POINTER(pointer)]),
        ("store_dispose", None, [pointer]),
        ("record_reader_create", pointer, [pointer, ctypes.c_char_p, ctypes.POINTER(pointer)]),
        ("record_reader_dispose", None, [pointer]),
        ("record_reader_occurrences_apply_f", ctypes.c_bool, [pointer, pointer, pointer]),
        ("occurrence_get_symbol", pointer, [pointer]),
        ("occurrence_get_roles", ctypes.c_uint64, [pointer]),
        ("occurrence_get_line_col", None, [pointer, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_uint)]),
        ("symbol_get_usr", Text, [pointer]),
        ("symbol_get_name", Text, [pointer]),
    ]:
        function = getattr(lib, "indexstore_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


def occurrences(toolchain, store_path):
    """Returns all occurrences in all records of a store that was written by one compilation."""
    lib = library(toolchain)
    error = ctypes.c_void_p()
    store = lib.indexstore_store_create(str(store_path).encode(), ctypes.byref(error))
    assert store, f"libIndexStore cannot open {store_path}"
    found = []
    file = ""

    @ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    def see(_, occurrence):
        line, column = ctypes.c_uint(), ctypes.c_uint()
        lib.indexstore_occurrence_get_line_col(occurrence, ctypes.byref(line), ctypes.byref(column))
        symbol = lib.indexstore_occurrence_get_symbol(occurrence)
        found.append(Occurrence(file, line.value, column.value, str(lib.indexstore_symbol_get_name(symbol)),
                                str(lib.indexstore_symbol_get_usr(symbol)),
                                lib.indexstore_occurrence_get_roles(occurrence)))
        return True

    for record in sorted(pathlib.Path(store_path).glob("v5/records/*/*.swift-*")):
        file = record.name.rpartition("-")[0]
        reader = lib.indexstore_record_reader_create(store, record.name.encode(), ctypes.byref(error))
        assert reader, f"libIndexStore cannot read {record.name}"
        lib.indexstore_record_reader_occurrences_apply_f(reader, None, ctypes.cast(see, ctypes.c_void_p))
        lib.indexstore_record_reader_dispose(reader)
    lib.indexstore_store_dispose(store)
    assert found, f"no records in {store_path}"
    return found
