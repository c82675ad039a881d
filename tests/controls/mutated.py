"""Damaged objects for BPF: those that come with ackclock, and others that take much of something.

A damage is a bit, a byte, a part that is cut off, or a number in a field: of the headers of ELF, of
sections, symbols, relocations, types (BTF), notes (BTF.ext) or instructions. An amplification adds
many of one thing: types, members, lines or relocations that name one long string, levels of types,
sections that share bytes, maps, symbols, instructions.
"""

import random
import struct
from collections.abc import Callable
from functools import cache

from .paths import PROGRAMS

_MOST_DAMAGES = 4
_SECTION, _SYMBOL, _RELOCATION = 64, 24, 16
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)

Damage = Callable[[bytearray, random.Random], None]


def mutated(seed: int) -> bytes:
    """Returns a damaged object; a seed always gives the same one."""
    draws = random.Random(seed)
    content = bytearray(draws.choice(_seeds()))
    if draws.random() < 0.15:
        draws.choice(_AMPLIFICATIONS)(content, draws)
    else:
        for _ in range(draws.randint(1, _MOST_DAMAGES)):
            draws.choice(_DAMAGES)(content, draws)
    if draws.random() < 0.05:
        del content[draws.randint(0, len(content)) :]
    return bytes(content)


@cache
def _seeds() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(PROGRAMS.glob("*.bpf.o")))


def _number(content: bytearray, position: int, size: int) -> int:
    return int.from_bytes(content[position : position + size], "little")


def _headers(content: bytearray) -> list[int]:
    """Returns the places of the headers of sections, if they are where they say."""
    first, count = _number(content, 40, 8), _number(content, 60, 2)
    places = [first + _SECTION * section for section in range(min(count, 1000))]
    return [place for place in places if place + _SECTION <= len(content)]


def _name(content: bytearray, header: int) -> bytes:
    headers = _headers(content)
    names = _number(content, 62, 2)
    if names >= len(headers):
        return b""
    position = _number(content, headers[names] + 24, 8) + _number(content, header, 4)
    return bytes(content[position : position + 100].split(b"\0")[0])


def _section(content: bytearray, *names: bytes) -> tuple[int, int, int]:
    """Returns the header of a section of one of these names, its begin and end."""
    for header in _headers(content):
        if _name(content, header) in names:
            begin = _number(content, header + 24, 8)
            return header, begin, min(begin + _number(content, header + 32, 8), len(content))
    return 0, 0, len(content)


def _put(content: bytearray, position: int, size: int, draws: random.Random) -> None:
    """Writes a number that is likely to be an edge, or close to the one that is there."""
    if position < 0 or position + size > len(content):
        return
    old = _number(content, position, size)
    near = old + draws.choice([-8, -1, 1, 8, old])
    number = draws.choice([draws.choice(_EDGES), near, draws.getrandbits(8 * size)])
    content[position : position + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")


def _replace(content: bytearray, name: bytes, new: bytes) -> None:
    """Gives a section another content, at the end of the object."""
    header, _, _ = _section(content, name)
    if header:
        struct.pack_into("<QQ", content, header + 24, len(content), len(new))
        content += new


def _flip_a_bit(content: bytearray, draws: random.Random) -> None:
    if content:
        content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)


def _set_a_byte(content: bytearray, draws: random.Random) -> None:
    if content:
        content[draws.randrange(len(content))] = draws.randrange(256)


def _set_the_header(content: bytearray, draws: random.Random) -> None:
    position, size = draws.choice([(16, 2), (18, 2), (40, 8), (58, 2), (60, 2), (62, 2)])
    _put(content, position, size, draws)


def _set_a_section(content: bytearray, draws: random.Random) -> None:
    """Sets a field of a section's header."""
    headers = _headers(content)
    if headers:
        fields = [(0, 4), (4, 4), (8, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)]
        position, size = draws.choice(fields)
        _put(content, draws.choice(headers) + position, size, draws)


def _set_an_entry(
    names: tuple[bytes, ...], stride: int, fields: tuple[tuple[int, int], ...]
) -> Damage:
    """Returns a damage of a field in a table of entries."""

    def damage(content: bytearray, draws: random.Random) -> None:
        _, begin, end = _section(content, draws.choice(names))
        if end - begin >= stride:
            position, size = draws.choice(fields)
            entry = begin + stride * draws.randrange((end - begin) // stride)
            _put(content, entry + position, size, draws)

    return damage


def _set_a_word_of_types(content: bytearray, draws: random.Random) -> None:
    """Sets a word of the header or of the types of BTF, or a reference to a type in it."""
    _, begin, end = _section(content, b".BTF")
    types = begin + 24
    last = min(types + _number(content, begin + 12, 4), end)
    place = draws.choice([(begin + 4, types), (types, last), (types, last)])
    if place[1] - place[0] >= 4:
        _put(content, draws.randrange(place[0], place[1] - 3, 4), 4, draws)


def _refer_to_a_neighbour(content: bytearray, draws: random.Random) -> None:
    """Gives a word of the types the number of a type, so that types may hold themselves."""
    _, begin, end = _section(content, b".BTF")
    last = min(begin + 24 + _number(content, begin + 12, 4), end)
    if last > begin + 28:
        position = draws.randrange(begin + 24, last - 3, 4)
        struct.pack_into("<I", content, position, draws.randint(0, 120))


def _set_a_string(content: bytearray, draws: random.Random) -> None:
    """Sets a byte of the strings of BTF, often the zero at the end of one."""
    _, begin, end = _section(content, b".BTF")
    first = min(begin + 24 + _number(content, begin + 16, 4), end)
    if end > first:
        position = draws.randrange(first, end)
        zero = content.find(0, position, end)
        content[zero if zero >= 0 and draws.random() < 0.7 else position] = draws.randrange(256)


def _cut(content: bytearray, draws: random.Random) -> None:
    """Takes bytes out of the middle."""
    if content:
        position = draws.randrange(len(content))
        del content[position : position + draws.randint(1, 200)]


_CODE = (b".text", b"struct_ops")
_DAMAGES: tuple[Damage, ...] = (
    _flip_a_bit,
    _set_a_byte,
    _set_the_header,
    _set_a_section,
    _set_an_entry((b".symtab",), _SYMBOL, ((0, 4), (4, 1), (6, 2), (8, 8), (16, 8))),
    _set_an_entry(
        (b".rel.text", b".relstruct_ops", b".rel.struct_ops.link", b".rel.BTF"),
        _RELOCATION,
        ((0, 8), (8, 4), (12, 4)),
    ),
    _set_an_entry(_CODE, 8, ((0, 1), (1, 1), (2, 2), (4, 4))),
    _set_an_entry((b".struct_ops.link", b".rodata", b".maps"), 4, ((0, 4),)),
    _set_an_entry((b".BTF.ext",), 4, ((0, 4),)),
    _set_a_word_of_types,
    _set_a_word_of_types,
    _refer_to_a_neighbour,
    _refer_to_a_neighbour,
    _set_a_string,
    _cut,
)


class _Types:
    """The types of an object, to which some are added."""

    def __init__(self, content: bytearray) -> None:
        _, begin, _ = _section(content, b".BTF")
        position, size, strings, length = struct.unpack_from("<IIII", content, begin + 8)
        self.types = content[begin + 24 + position : begin + 24 + position + size]
        self.strings = content[begin + 24 + strings : begin + 24 + strings + length]
        self.next = 1 + sum(1 for _ in self._each())

    def _each(self) -> list[int]:
        places, position = [], 0
        sizes = {1: 4, 3: 12, 14: 4, 17: 4}
        each = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
        while position < len(self.types):
            places.append(position)
            info = _number(self.types, position + 4, 4)
            kind = info >> 24 & 31
            position += 12 + sizes.get(kind, 0) + each.get(kind, 0) * (info & 0xFFFF)
        return places

    def string(self, text: bytes) -> int:
        """Adds a string and returns its place."""
        position = len(self.strings)
        self.strings += text + b"\0"
        return position

    def add(self, name: int, kind: int, size: int, *words: int, count: int = 0) -> int:
        """Adds a type and returns its number."""
        self.types += struct.pack(f"<{3 + len(words)}I", name, kind << 24 | count, size, *words)
        self.next += 1
        return self.next - 1

    def write(self, content: bytearray) -> None:
        """Replaces the types of an object."""
        lengths = len(self.types), len(self.types), len(self.strings)
        header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, *lengths)
        _replace(content, b".BTF", header + self.types + self.strings)


def _long(draws: random.Random) -> bytes:
    return b"n" * draws.choice([100, 512, 513, 100_000, 1_000_000])


def _name_one_string(content: bytearray, draws: random.Random) -> None:
    """Adds types or members that all name one string."""
    types = _Types(content)
    name = types.string(_long(draws))
    count = draws.choice([1000, 60_000])
    kind = draws.choice([1, 2, 4, 6, 8, 13, 14])
    if kind == 4:
        types.add(name, 4, 4, *[name, 1, 0] * count, count=count)
    elif kind == 6:
        types.add(name, 6, 4, *[name, 1] * count, count=count)
    else:
        for _ in range(count):
            types.add(name, kind, 1, *[32] * (kind in (1, 14)))
    types.write(content)


def _hold_types(content: bytearray, draws: random.Random) -> None:
    """Adds types that hold themselves, or many others within each other."""
    types = _Types(content)
    own, levels = types.next, draws.choice([1, 2, 30, 60, 70, 1000, 100_000])
    kind = draws.choice([3, 4, 8, 9, 10, 11, 18])
    ends = draws.random() < 0.5
    for level in range(levels):
        inner = 1 if ends and level == levels - 1 else own + (level + 1) % levels
        if kind == 3:
            types.add(0, 3, 0, inner, 1, 2)
        elif kind == 4:
            types.add(1, 4, 8, 1, inner, 0, count=1)
        else:
            types.add(1 if kind == 8 else 0, kind, inner)
    _use(types, own, draws)
    types.write(content)


def holding_itself(content: bytes) -> bytes:
    """Returns an object with a type that is another name of itself."""
    changed = bytearray(content)
    types = _Types(changed)
    types.add(1, 8, types.next)
    types.write(changed)
    return bytes(changed)


def _use(types: _Types, number: int, draws: random.Random) -> None:
    """Lets a word of older types name a type."""
    for _ in range(draws.randint(0, 20)):
        struct.pack_into("<I", types.types, 4 * draws.randrange(len(types.types) // 4), number)


def _note(content: bytearray, draws: random.Random) -> None:
    """Adds lines or relocations that name one string, an access of many levels, or one type."""
    types = _Types(content)
    code = types.string(b"struct_ops")
    text = types.string(_long(draws))
    levels = draws.choice([2, 60, 200])
    access = types.string(b":".join([b"0"] * levels))
    inner = 1
    for _ in range(min(levels, 60)):
        inner = types.add(1, 4, 4, 1, inner, 0, count=1)
    count = draws.choice([100, 2_000, 20_000, 60_000])
    lines = [16, code, count, *[8, text, text, 1024] * count] if draws.random() < 0.5 else [16]
    fields = [
        word
        for position in range(count)
        for word in (8 * (position % 50), inner, access, position % 13)
    ]
    parts = struct.pack(f"<{len(lines)}I", *lines), struct.pack("<3I", 16, code, count)
    second = parts[1] + struct.pack(f"<{len(fields)}I", *fields)
    lengths = 0, 0, 0, len(parts[0]), len(parts[0]), len(second)
    types.write(content)
    header = struct.pack("<HBBI6I", 0xEB9F, 1, 0, 32, *lengths)
    _replace(content, b".BTF.ext", header + parts[0] + second)


def _share_bytes(content: bytearray, draws: random.Random) -> None:
    """Adds sections that have the bytes of one that is there."""
    headers = _headers(content)
    shared = draws.choice(headers)
    count = draws.choice([1, 50, 900, 60_000])
    table = b"".join(bytes(content[header : header + _SECTION]) for header in headers)
    struct.pack_into("<Q", content, 40, len(content))
    struct.pack_into("<H", content, 60, min(len(headers) + count, 0xFFFF))
    content += table + bytes(content[shared : shared + _SECTION]) * count


def _repeat_a_table(content: bytearray, draws: random.Random) -> None:
    """Gives a section many times its content: symbols, relocations, code, variables."""
    names = (b".symtab", b".relstruct_ops", b".rel.struct_ops.link", b"struct_ops", b".rodata")
    name = draws.choice(names)
    _, begin, end = _section(content, name)
    whole = bytes(content[begin:end])
    _replace(content, name, whole * (draws.choice([50_000, 2_000_000]) // max(len(whole), 1)))


def _declare_maps(content: bytearray, draws: random.Random) -> None:
    """Adds maps, or makes one large."""
    types = _Types(content)
    entries, value = types.string(b"max_entries"), types.string(b"value_size")
    kind = types.string(b"type")
    length = draws.choice([1, 1000, 1 << 20, 0xFFFFFFFF])
    numbers = [draws.choice([1, 2, 6, 24, 27]), length, draws.choice([4, 100_000])]
    pointers = [types.add(0, 2, types.add(0, 3, 0, 1, 1, number)) for number in numbers]
    members = [kind, pointers[0], 0, entries, pointers[1], 64, value, pointers[2], 128]
    map_type = types.add(0, 4, 24, *members, count=3)
    own = bytes(types.strings).find(b"\0ackclock_records\0") + 1
    variable = types.add(own, 14, map_type, 1)
    count = draws.choice([1, 70, 5000])
    replaced = bytes(types.strings).find(b"\0.maps\0") + 1
    types.strings[replaced] = 120
    section = types.string(b".maps")
    types.add(section, 15, 24, *[variable, 0, 24] * count, count=count)
    types.write(content)


_AMPLIFICATIONS: tuple[Damage, ...] = (
    _name_one_string,
    _hold_types,
    _hold_types,
    _note,
    _share_bytes,
    _repeat_a_table,
    _declare_maps,
)
