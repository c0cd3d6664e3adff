"""Compiles the kernels of a step on a device before its first launch, several at the same time.

Warp compiles a module of kernels when one of them is launched first, one module after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, TypeAlias

import numpy as np

Modules: TypeAlias = dict[Any, set[int | None]]
"""Warp's modules of kernels, with the sizes of blocks that they are launched with; None is Warp's default."""
CompileProgress: TypeAlias = Callable[[int, int], None]
"""Takes the number of compiled modules, and of all."""


def compile_kernels(warp: Any, device: Any, step: Callable[[], None], progress: CompileProgress | None = None) -> None:
    """Compile the modules whose kernels `step` launches, or load them from Warp's cache.

    For this, `step` is called without running its kernels.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with _recorded_launches(warp) as found:
        step()
    if not found:
        return
    with ThreadPoolExecutor(min(len(found), os.cpu_count() or 1)) as threads:
        pending = [threads.submit(_compile, warp, device, module, sizes) for module, sizes in found.items()]
        for done, one in enumerate(as_completed(pending), 1):
            one.result()
            if progress is not None:
                progress(done, len(pending))


def _compile(warp: Any, device: Any, module: Any, sizes: set[int | None]) -> None:
    for size in sizes:
        warp.force_load(device, [module], block_dim=size, max_workers=0)


@contextmanager
def _recorded_launches(warp: Any) -> Iterator[Modules]:
    """Record the modules of kernels that this thread launches, and run none of them.

    The bodies of conditions and loops are called once, so that their kernels are found.
    """
    found: Modules = {}
    own = get_ident()

    def launch(kernel: Any, dim: Any, *_: Any, block_dim: int | None = None, **__: Any) -> None:
        if np.prod(dim) > 0 and not kernel.is_generic:  # Warp does not compile what no thread runs
            found.setdefault(kernel.module, set()).add(block_dim)

    def capture_if(_: Any, on_true: Any = None, on_false: Any = None, stream: Any = None, **options: Any) -> None:
        for body in (on_true, on_false):
            if callable(body):
                body(**options)

    def capture_while(_: Any, while_body: Any, stream: Any = None, **options: Any) -> None:
        if callable(while_body):
            while_body(**options)

    instead: dict[str, Callable[..., Any]] = {"launch": launch, "launch_tiled": launch}
    instead |= {"capture_if": capture_if, "capture_while": capture_while}
    originals: dict[str, Callable[..., Any]] = {name: getattr(warp, name) for name in instead}

    def only_here(name: str) -> Callable[..., Any]:
        def launch_here(*args: Any, **options: Any) -> Any:
            chosen = instead if get_ident() == own else originals
            return chosen[name](*args, **options)

        return launch_here

    try:
        for name in instead:
            setattr(warp, name, only_here(name))
        yield found
    finally:
        for name, original in originals.items():
            setattr(warp, name, original)
