"""The objects of controls are what the pinned compiler makes of their sources."""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from .loading import SHIPPED, SOURCES

MAKEFILE = SOURCES.parents[2] / "Makefile"
# Sections that hold code, parameters and the control; others hold paths and types of the compiler.
CODE = ("struct_ops", ".text", ".rodata", ".struct_ops.link", "license")


def pinned() -> str:
    """The compiler that the Makefile names."""
    [name] = re.findall(r"^CLANG := (\S+)$", MAKEFILE.read_text(), re.M)
    return name


def sections(content: bytes) -> dict[str, bytes]:
    """The sections of a 64-bit little-endian ELF file by name."""
    assert content[:6] == b"\x7fELF\x02\x01"
    (table,) = struct.unpack_from("<Q", content, 40)
    size, number, names = struct.unpack_from("<HHH", content, 58)
    headers = [struct.unpack_from("<IIQQQQ", content, table + size * n) for n in range(number)]
    text = content[headers[names][4] : headers[names][4] + headers[names][5]]
    by_name = {}
    for name, _kind, _flags, _address, offset, length in headers:
        by_name[text[name : text.index(b"\0", name)].decode()] = content[offset : offset + length]
    return by_name


@pytest.mark.parametrize("name", SHIPPED)
def test_an_object_has_the_code_of_its_source(name: str, tmp_path: Path) -> None:
    compiler = pinned()
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    made = tmp_path / "made.bpf.o"
    command = [compiler, "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c", f"{name}.bpf.c", "-o"]
    subprocess.run([*command, made], cwd=SOURCES, check=True)
    ours, theirs = (sections(path.read_bytes()) for path in (SOURCES / f"{name}.bpf.o", made))
    assert len(ours["struct_ops"]) > 1000
    for section in CODE:
        assert ours[section] == theirs[section], f"{name}: make bpf compiles {section} anew"
