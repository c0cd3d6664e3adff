"""Names as `write.path` makes them, taken apart; and names for what has none."""

from __future__ import annotations

from collections.abc import Sequence


def parts(name: str) -> list[str]:
    """The names that a path is made of."""
    return [part.replace("~1", "/").replace("~0", "~") for part in name.split("/")]


def common_model(names: Sequence[str]) -> str | None:
    """The first part of names that all have two and share it: `model` of `model/body`."""
    split = [name.partition("/") for name in names]
    if not split or any(not rest or not first for first, _, rest in split):
        return None
    return split[0][0] if len({first for first, _, _ in split}) == 1 else None


def within(name: str, model: str) -> str:
    """A name without the model's in front of it, with what the path spelled differently put right."""
    rest = name.removeprefix(f"{model}/") if model else name
    return parts(rest)[0] if "/" not in rest and model else rest


def joint_name(names: Sequence[str], model: str, body: str) -> str:
    """What a joint is called that is made of joints of these names."""
    if len(names) == 1 and names[0]:
        return within(names[0], model)
    numbered = numbered_joint(names)
    return within(numbered, model) if numbered else f"{body}_joint"


def numbered_joint(names: Sequence[str]) -> str:
    """The name that all have in front of their numbers, as this package writes it; else an empty text."""
    heads = {name.rpartition("/")[0] for name in names}
    tails = [name.rpartition("/")[2] for name in names]
    return heads.pop() if len(heads) == 1 and tails == [str(i) for i in range(len(names))] else ""
