"""What an output says in a format that only masses, places and joints are read back from: the tables tell the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exoskel.convert.format_fates import FormatFates
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Marker
from exoskel.scene.item import Item
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene


class WriteOnlyFates(FormatFates):
    """Judges shapes and markers by the format's tables, and what these say of single fields before all else."""

    def __init__(
        self,
        scene: Scene,
        written: Written,
        target: Format,
        errors: Mapping[tuple[int, str], float],
        chains: Mapping[int, Chain],
    ) -> None:
        super().__init__(scene, written, target, errors, chains)
        self.shape_fates = self.capabilities.shape_fates
        self.unseen = self.capabilities.hidden_shape_reason
        self.tabled = self.capabilities.field_fates

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        if isinstance(item, Shape | Marker) and id(item) in self.written.elements:
            return self._shape_of(item, field) if isinstance(item, Shape) else Verdict(Fate.EXACT)
        found = self.tabled.get((type(item), field))
        if found is None or id(item) not in self.written.counterparts:
            return super().field(item, field, parts)
        why = self.whys.get(id(item), "")
        return Verdict(found.fate, why) if why and found.loss else found

    def _why_missing(self, shape: Shape) -> str:
        return self.whys.get(id(shape), self.unseen) if self.unseen else super()._why_missing(shape)

    def _shape_of(self, shape: Shape, field: str) -> Verdict:
        known = self.tabled.get((Shape, field))
        if known is not None:
            return known
        found = self.shape_fates[shape.kind]
        if field != "geometry" or id(shape) not in self.whys:
            return Verdict(Fate.EXACT)
        return Verdict(found.fate, self.whys[id(shape)])
