"""USDZ: archives of layers are written and read."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

import exoskel
from exoskel.source.usdz_archive import PackageError, pack, unpack

pxr = pytest.importorskip("pxr")
WALKER = "dart://sample/skel/walker.skel"


def archive(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as one:
        for name, data in files.items():
            one.writestr(name, data)
    return made.getvalue()


def problem(data: bytes, tmp_path: Path) -> str:
    (tmp_path / "a.usdz").write_bytes(data)
    (found,) = exoskel.load(tmp_path / "a.usdz").diagnostics
    assert found.code == "US002"
    return found.message


def test_a_scene_round_trips(tmp_path: Path) -> None:
    report = exoskel.convert(WALKER, tmp_path / "w.usdz")
    assert report.saved and report.certificate.passed
    exoskel.convert(WALKER, tmp_path / "w.usdc")
    packed, plain = (exoskel.load(tmp_path / f"w.{kind}").world for kind in ("usdz", "usdc"))
    assert [body.name for body in packed.bodies()] == [body.name for body in plain.bodies()]
    assert [body.mass for body in packed.bodies()] == [body.mass for body in plain.bodies()]
    assert unpack((tmp_path / "w.usdz").read_bytes()) == {"scene.usdc": (tmp_path / "w.usdc").read_bytes()}


def test_usd_core_opens_it(tmp_path: Path) -> None:
    from pxr import Sdf, Usd

    exoskel.convert(WALKER, tmp_path / "w.usdz")
    opened = Sdf.ZipFile.Open(str(tmp_path / "w.usdz"))
    (name,) = opened.GetFileNames()
    assert opened.GetFileInfo(name).dataOffset % 64 == 0
    assert Usd.Stage.Open(str(tmp_path / "w.usdz")).GetDefaultPrim()


def test_layers_in_the_archive_are_found_beside_the_first(tmp_path: Path) -> None:
    from pxr import UsdUtils

    (tmp_path / "parts").mkdir()
    exoskel.convert(WALKER, tmp_path / "parts" / "w.usda")
    reference = '#usda 1.0\n(defaultPrim = "Top")\ndef Xform "Top" (references = @parts/w.usda@) {}\n'
    (tmp_path / "top.usda").write_text(reference)
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "top.usda"), str(tmp_path / "top.usdz"))
    packed = exoskel.load(tmp_path / "top.usdz")
    assert len(list(packed.world.bodies())) == len(list(exoskel.load(tmp_path / "top.usda").world.bodies())) > 5
    assert not [found for found in packed.diagnostics if found.code == "US101"]


def test_files_outside_the_archive_are_not_read(tmp_path: Path) -> None:
    exoskel.convert(WALKER, tmp_path / "w.usda")
    reference = b'#usda 1.0\ndef Xform "Top" (references = @./w.usda@) {}\n'
    (tmp_path / "top.usdz").write_bytes(archive({"top.usda": reference}))
    assert [found.code for found in exoskel.load(tmp_path / "top.usdz").diagnostics][:1] == ["US101"]


def test_invalid_archives_are_reported(tmp_path: Path) -> None:
    layer = pack({"a.usdc": b"PXR-USDC and more"})
    assert "its files are compressed or encrypted" in problem(
        archive({"a.usda": b"#usda 1.0"}, zipfile.ZIP_DEFLATED), tmp_path
    )
    assert "the first file of the archive is not a layer" in problem(archive({"a.png": b"image"}), tmp_path)
    assert "the archive is damaged" in problem(layer[:-10], tmp_path)
    assert "the archive is damaged" in problem(layer.replace(b"and more", b"and less"), tmp_path)


def test_an_archive_whose_files_overlap_is_refused() -> None:
    data = archive({"a.usda": b"#usda 1.0" + bytes(1000)})
    begin = data.index(b"PK\x01\x02")
    entry, end = data[begin : data.index(b"PK\x05\x06")], bytearray(data[data.index(b"PK\x05\x06") :])
    end[8:12] = (3).to_bytes(2, "little") * 2
    end[12:16] = (3 * len(entry)).to_bytes(4, "little")
    with pytest.raises(PackageError, match="overlap"):
        unpack(data[:begin] + 3 * entry + bytes(end))


def test_the_same_scene_gives_the_same_archive() -> None:
    assert exoskel.convert(WALKER, to="usd").saved is False
    assert pack({"a.usdc": b"PXR-USDC"}) == pack({"a.usdc": b"PXR-USDC"})
