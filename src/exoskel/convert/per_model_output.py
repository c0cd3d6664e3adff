"""One document for each model: formats that hold a robot and not a world."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from exoskel.convert.report import Certificate, Check
from exoskel.convert.selection import with_models, with_worlds
from exoskel.formats.write import Written
from exoskel.scene.item import Names, unique_name
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.world import Scene, World

_UNFIT = re.compile(r"[^\w.+-]+")


def file_names(models: Sequence[str], ending: str) -> list[str]:
    """A file name for each model, fit for any system: also for those where letters of both cases are the same."""
    taken = Names()
    made: list[str] = []
    for model in models:
        name = _UNFIT.sub("_", model).strip("._") or "model"
        number = unique_name(name.casefold(), taken)
        taken.add(number)
        made.append(name + number.removeprefix(name.casefold()) + ending)
    return made


class ModelOutput(Struct, frozen=True):
    """A document that was made of a scene: `said` is that scene as it was written, with joints lowered.

    `chains` are what joints were taken apart into, by the ids of their last links.
    """

    said: Scene
    written: Written
    certificate: Certificate
    chains: Mapping[int, Chain]
    hints: list[str]
    is_turned: bool
    path: Path | None


def combined(parts: Sequence[ModelOutput], whole: Scene, folder: Path | None) -> ModelOutput:
    """All pieces of a world as if they were one document, for one account of them."""
    checks = [
        Check(f"{part.said.world.models[0].name}: {check.name}", check.max_error, check.tolerance, check.passed)
        for part in parts
        for check in part.certificate.checks
    ]
    world = with_models(parts[0].said.world, [model for part in parts for model in part.said.world.models])
    return ModelOutput(
        said=with_worlds(whole, [world]),
        written=_together([part.written for part in parts], world),
        certificate=Certificate.of(checks),
        chains={key: chain for part in parts for key, chain in part.chains.items()},
        hints=list(dict.fromkeys(hint for part in parts for hint in part.hints)),
        is_turned=parts[0].is_turned,
        path=folder,
    )


def _together(parts: Sequence[Written], world: World) -> Written:
    first = parts[0]
    output = first.output.anew()
    for part in parts:
        output.losses += part.output.losses
        output.missing += [uri for uri in part.output.missing if uri not in output.missing]
        output.companions |= part.output.companions
    found = {key: item for part in parts for key, item in part.counterparts.items()}
    found[id(world)] = first.native.worlds[0]
    return structs.replace(
        first,
        data=b"".join(part.data for part in parts),
        counterparts=found,
        output=output,
        kept=structs.replace(first.kept, comments=set().union(*(part.kept.comments for part in parts))),
        elements=frozenset().union(*(part.elements for part in parts)),
    )
