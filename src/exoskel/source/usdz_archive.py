"""Archives in the form of USDZ: files that are not compressed, the first of which is a layer of USD."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from typing import BinaryIO

SIGNATURE = b"PK\x03\x04"
EXTENSION = ".usdz"
FIRST_LAYER = "scene.usdc"
"""The name of the layer that is opened, in archives of Exoskel."""
_ALIGNMENT = 64
"""The content of each file begins at a multiple of this."""
_LOCAL, _CENTRAL, _END = "<4s5H3I2H", "<4s6H3I5H2I", "<4s4H2IH"
_VERSION, _FIRST_DATE = 20, 0x21
"""ZIP 2.0, and the first day that it knows: archives of the same scene are the same."""
_UTF_8 = 0x800
"""The flag of names that are not ASCII."""
_PADDING = 0x1986
"""The kind of the extra field that the specification of USDZ uses for padding."""


class PackageError(Exception):
    """An archive is no USDZ; the message is the reason."""


def pack(files: Mapping[str, bytes]) -> bytes:
    """An archive with these files, by their names and in this order; the first must be a layer."""
    content, central = bytearray(), bytearray()
    for name, data in files.items():
        own, flags = name.encode(), 0 if name.isascii() else _UTF_8
        start = len(content)
        padding = -(start + struct.calcsize(_LOCAL) + len(own) + 4) % _ALIGNMENT
        extra = struct.pack("<2H", _PADDING, padding) + bytes(padding)
        sums = (zlib.crc32(data), len(data), len(data))
        content += struct.pack(_LOCAL, SIGNATURE, _VERSION, flags, 0, 0, _FIRST_DATE, *sums, len(own), len(extra))
        content += own + extra + data
        made = (b"PK\x01\x02", _VERSION, _VERSION, flags, 0, 0, _FIRST_DATE, *sums, len(own), 0, 0, 0, 0, 0, start)
        central += struct.pack(_CENTRAL, *made) + own
    end = struct.pack(_END, b"PK\x05\x06", 0, 0, len(files), len(files), len(central), len(content), 0)
    return bytes(content + central + end)


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of an archive by name, in order; the first is the layer to open.  Raises PackageError."""
    import zipfile  # it takes long to import

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            if any(one.compress_type != zipfile.ZIP_STORED or one.flag_bits & 1 for one in members):
                raise PackageError("its files are compressed or encrypted")
            if sum(one.file_size for one in members) > len(data):
                raise PackageError("the files of the archive overlap")
            files = {one.filename: archive.read(one) for one in members}
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error, OSError) as problem:
        raise PackageError(f"the archive is damaged: {problem}") from None
    if not files:
        raise PackageError("the archive is empty")
    return files


def read_member(file: BinaryIO, name: str, most: int) -> bytes:
    """The content of a file in an open archive, or its first `most` + 1 bytes.  Raises OSError."""
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            member = archive.getinfo(name)
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                raise PackageError("it is compressed or encrypted")
            with archive.open(member) as content:
                return content.read(most + 1)
    except KeyError:
        raise FileNotFoundError(0, "it is not in the archive") from None
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error, PackageError) as problem:
        raise OSError(0, f"the archive is damaged: {problem}") from None
