"""What SKEL elements and diagnostics mean for a conversion."""

from __future__ import annotations

from exoskel.formats.interface import DiagnosticEffects, SourceMapping
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.source.vocabulary import SceneFieldTable

SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(SKEL.scene_fields()),
    DiagnosticEffects(
        ignored=(
            "SK005.world",
            "SK005.kept",
            "SK010",
            "SK011",
            "SK012",
            "SK013",
            "SK014",
            "SK040.repeated",
            "SK084",
            "SK088.stiffness",
            "SK088.spring_damping",
            "SK098",
        ),
        used=(
            "SK013.collidable_zero",
            "SK013.geometry_color",
            "SK013.self_collide",
            "SK013.soft_marker",
            "SK014.split",
            "SK051",
            "SK052",
            "SK053",
            "SK061",
            "SK063",
            "SK090",
            "SK020",
            "SK050",
        ),
        lossless=(
            "SK005",
            "SK007",
            "SK008",
            "SK013",
            "SK014",
            "SK02",
            "SK033",
            "SK040",
            "SK041",
            "SK042",
            "SK043",
            "SK050",
            "SK051",
            "SK052",
            "SK053",
            "SK055",
            "SK063",
            "SK064",
            "SK065",
            "SK067.range",
            "SK068.missing",
            "SK069",
            "SK07",
            "SK081",
            "SK087",
            "SK088",
            "SK090",
            "SK094",
        ),
    ),
)
