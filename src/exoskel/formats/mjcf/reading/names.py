"""Parse the names that `world_layout.path` creates, and name joints."""

from __future__ import annotations

from collections.abc import Sequence


def split_path(name: str) -> list[str]:
    """Split a path into names."""
    return [part.replace("~1", "/").replace("~0", "~") for part in name.split("/")]


def common_model(names: Sequence[str]) -> str | None:
    """The first part of two-part names if all share it: `model` of `model/body`."""
    split = [name.partition("/") for name in names]
    if not split or any(not rest or not first for first, _, rest in split):
        return None
    return split[0][0] if len({first for first, _, _ in split}) == 1 else None


def strip_model(name: str, model: str) -> str:
    """A name without the prefix of its model, with escaped characters restored."""
    rest = name.removeprefix(f"{model}/") if model else name
    return split_path(rest)[0] if "/" not in rest and model else rest


def joint_name(names: Sequence[str], model: str, body: str) -> str:
    """The name of a joint that consists of MuJoCo joints with these names."""
    if len(names) == 1 and names[0]:
        return strip_model(names[0], model)
    numbered = numbered_joint(names)
    return strip_model(numbered, model) if numbered else f"{body}_joint"


def numbered_joint(names: Sequence[str]) -> str:
    """The common name before the numbers `0`, `1`, … that our writer appends; otherwise empty."""
    heads = {name.rpartition("/")[0] for name in names}
    tails = [name.rpartition("/")[2] for name in names]
    return heads.pop() if len(heads) == 1 and tails == [str(i) for i in range(len(names))] else ""
