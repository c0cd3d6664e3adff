"""usd-core as a reader of USD: its validators, mass properties and poses by its schemas.  It has no kinematics."""

from __future__ import annotations

import numpy as np
from protocol import inertia, rotation, serve
from pxr import Usd, UsdGeom, UsdPhysics, UsdValidation

VALIDATORS = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()


def describe(request):
    stage = Usd.Stage.Open(request["file"])
    faults = UsdValidation.ValidationContext(VALIDATORS).Validate(stage)
    cache = UsdGeom.XformCache()
    found = [prim for prim in stage.Traverse() if Usd.ModelAPI(prim).GetKind() == "subcomponent"]
    return {
        "bodies": [entry for prim in found for entry in masses(prim)],
        "start": {str(prim.GetPath()): {"pose": rows(cache.GetLocalToWorldTransform(prim))} for prim in found},
        "said": "".join(f"{fault.GetName()}: {fault.GetMessage()}\n" for fault in faults),
    }


def masses(prim):
    if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return []
    stated = UsdPhysics.MassAPI(prim)
    turn = stated.GetPrincipalAxesAttr().Get()
    axes = rotation([turn.GetReal(), *turn.GetImaginary()])
    moment = axes @ np.diag(stated.GetDiagonalInertiaAttr().Get()) @ axes.T
    name = str(prim.GetPath())
    return [inertia([name], name, stated.GetMassAttr().Get(), list(stated.GetCenterOfMassAttr().Get()), moment)]


def rows(transform):
    """USD's matrices act on rows."""
    return np.array(transform).T[:3].tolist()


if __name__ == "__main__":
    serve(describe, lambda: ".".join(str(part) for part in Usd.GetVersion()[1:]))
