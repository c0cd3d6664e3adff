"""Rotations and rigid transforms in bulk.

Every function works on arrays with any leading shape: vectors are `(..., 3)`, rotation matrices
`(..., 3, 3)`, transforms `(..., 4, 4)`, quaternions `(..., 4)` in the order w x y z.  Matrices act on
column vectors.  Angles are radians.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

SMALL_SINE = 1e-12
"""The sine of half an angle below which the angle is twice its sine."""
_IDENTITY = np.eye(3)
_CYCLE = {"x": (0, 1, 2), "y": (1, 2, 0), "z": (2, 0, 1)}


def array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def rows(values: Sequence[Sequence[float]], width: int) -> Array:
    """Many short tuples as the rows of an array, in half the time of `array`."""
    return np.fromiter(chain.from_iterable(values), np.float64, len(values) * width).reshape(-1, width)


def unit(vectors: ArrayLike) -> Array:
    """`vectors` scaled to unit length; a zero vector stays zero."""
    v = array(vectors)
    # Dividing by a power of two first is exact, and prevents overflow of the squares.
    _, exponent = np.frexp(np.abs(v).max(axis=-1, keepdims=True))
    v = array(np.ldexp(v, -exponent))
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return v / np.where(length == 0.0, 1.0, length)


def lengths(vectors: ArrayLike) -> Array:
    """The lengths of vectors, also of those whose squares overflow."""
    v = array(vectors)
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = np.linalg.norm(v, axis=-1)
        if not np.isfinite(found).all():
            largest = np.abs(v).max(axis=-1, keepdims=True)
            scaled = np.linalg.norm(v / largest, axis=-1) * largest[..., 0]
            found = np.where(np.isfinite(found), found, scaled)
    return found


def unit_divisor(length: float) -> float:
    """The divisor that normalizes a vector of this length.

    It is 1 if the length is 1 up to rounding, so that normalizing a unit vector again does not change its digits.
    """
    return 1.0 if abs(length - 1.0) <= _ROUNDING else length


_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


COMPUTED_DIGITS = 13
"""The digits of a computed number that processors agree on."""


def round_vectors(vectors: ArrayLike, scales: ArrayLike = 0.0) -> Array:
    """Computed `vectors` without digits that are rounding errors and differ between processors.

    All components are rounded to the same decimal: the 13th digit of the largest of them, or of `scales`.
    """
    v = array(vectors)
    sizes = np.maximum(np.abs(v).max(axis=-1, initial=0.0), scales)
    rows = [
        [round(value, COMPUTED_DIGITS - 1 - decimal_exponent(size)) for value in row] if 0.0 < size < np.inf else row
        for row, size in zip(v.reshape(-1, v.shape[-1]).tolist(), sizes.ravel().tolist(), strict=True)
    ]
    return array(rows).reshape(v.shape) + 0.0  # no minus zero


def round_array(values: NDArray[np.floating] | NDArray[np.integer]) -> Array:
    """All computed `values` rounded to the same decimal: the 13th digit of the largest of them."""
    found = array(values)
    size = float(np.abs(found).max(initial=0.0))
    decimals = COMPUTED_DIGITS - 1 - decimal_exponent(size) if 0.0 < size < np.inf else 0
    return np.round(found, decimals) + 0.0 if 0 < decimals < _MOST_DECIMALS else found


_MOST_DECIMALS = 200
"""NumPy multiplies by a power of ten, which must not overflow."""

NOISE = 2e-15
"""A component that is smaller, relative to the vector, is a rounding error."""


def without_noise(vectors: ArrayLike, scales: ArrayLike = 0.0) -> Array:
    """Computed `vectors` with zeros for components that are rounding errors.

    `scales` are sizes of the numbers that the vectors were computed from, where these are larger than the results.
    """
    v = array(vectors)
    magnitudes = np.abs(v)
    sizes = np.maximum(magnitudes.max(axis=-1, initial=0.0), scales)[..., None]
    return np.where((magnitudes < NOISE * sizes) & np.isfinite(sizes), 0.0, v)


def decimal_exponent(size: float) -> int:
    """The decimal exponent, which is the same for 1 and 0.9999999999999999."""
    return int(f"{size:e}".partition("e")[2])


def cross_matrix(vectors: ArrayLike) -> Array:
    """The matrices [v] with [v] w = v x w."""
    v = array(vectors)
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def axis_rotation(axis: str, angles: ArrayLike) -> Array:
    """Right-handed rotations about one coordinate axis."""
    angle = array(angles)
    i, j, k = _CYCLE[axis]
    out = np.zeros((*angle.shape, 3, 3))
    cosine, sine = np.cos(angle), np.sin(angle)
    out[..., i, i] = 1.0
    out[..., j, j] = out[..., k, k] = cosine
    out[..., k, j] = sine
    out[..., j, k] = -sine
    return out


AXIS_ORDERS = ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz")
"""The orders of Euler angles; the same axis twice in a row would be one rotation."""


def euler_matrix(angles: ArrayLike, order: str = "xyz") -> Array:
    """Intrinsic Euler rotations: the product of elementary rotations in the order named."""
    angle = array(angles)
    if order == "xyz":
        return _euler_xyz_matrix(angle)
    first, second, third = (axis_rotation(axis, angle[..., i]) for i, axis in enumerate(order))
    return first @ second @ third


def _euler_xyz_matrix(angle: Array) -> Array:
    """Euler matrices of the common order xyz, three times as fast as the product."""
    (ca, cb, cc), (sa, sb, sc) = (np.moveaxis(f(angle), -1, 0) for f in (np.cos, np.sin))
    out = np.empty((*angle.shape, 3))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = cb * cc, -cb * sc, sb
    out[..., 1, 0], out[..., 1, 1] = ca * sc + cc * sa * sb, ca * cc - sa * sb * sc
    out[..., 2, 0], out[..., 2, 1] = sa * sc - ca * cc * sb, cc * sa + ca * sb * sc
    out[..., 1, 2], out[..., 2, 2] = -cb * sa, ca * cb
    return out


def euler_xyz_rows(a: float, b: float, c: float) -> tuple[tuple[float, float, float], ...]:
    """The rows of the Euler matrix of the order xyz, without NumPy, which takes longer for a single matrix."""
    ca, cb, cc, sa, sb, sc = cos(a), cos(b), cos(c), sin(a), sin(b), sin(c)
    return (
        (cb * cc, -cb * sc, sb),
        (ca * sc + cc * sa * sb, ca * cc - sa * sb * sc, -cb * sa),
        (sa * sc - ca * cc * sb, cc * sa + ca * sb * sc, ca * cb),
    )


def euler_xyz(rotations: ArrayLike) -> Array:
    """Angles (a, b, c) with R = Rx(a) Ry(b) Rz(c), b in [-pi/2, pi/2].

    Exact to rounding everywhere, gimbal lock included: c is fixed first, and a is then measured in
    the frame that c leaves, instead of from a second, independent arctangent.
    """
    r = array(rotations)
    cosine_b = np.hypot(r[..., 0, 0], r[..., 0, 1])
    b = np.arctan2(r[..., 0, 2], cosine_b)
    c = np.where(cosine_b < 1e-12, 0.0, np.arctan2(-r[..., 0, 1], r[..., 0, 0]))
    sine, cosine = np.sin(c), np.cos(c)
    a = np.arctan2(r[..., 2, 0] * sine + r[..., 2, 1] * cosine, r[..., 1, 0] * sine + r[..., 1, 1] * cosine)
    return np.stack([a, b, c], axis=-1)


def axis_angle_matrix(axes: ArrayLike, angles: ArrayLike) -> Array:
    """Right-handed rotations by `angles` about `axes`, which need not be unit; a zero axis gives the identity."""
    hat, angle = cross_matrix(unit(axes)), array(angles)[..., None, None]
    # 1 - cos x as 2 sin² (x / 2), which is accurate for small angles too.
    rotations: Array = _IDENTITY + np.sin(angle) * hat + 2.0 * np.sin(angle / 2.0) ** 2 * (hat @ hat)
    return rotations


def exp(rotation_vectors: ArrayLike) -> Array:
    """Rotation matrices of rotation vectors (axis times angle)."""
    w = array(rotation_vectors)
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    hat = cross_matrix(w)
    # sin(x)/x and (1-cos x)/x^2, both smooth through zero; np.sinc(t) is sin(pi t)/(pi t).
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2
    rotations: Array = _IDENTITY + first * hat + second * (hat @ hat)
    return rotations


def log(rotations: ArrayLike) -> Array:
    """Rotation vectors of matrices, with angles of at most pi."""
    q = quaternion(rotations)
    q = np.where(q[..., :1] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    scale = np.where(sine < SMALL_SINE, 2.0, angle / np.where(sine == 0.0, 1.0, sine))
    return q[..., 1:] * scale


def quaternion_matrix(quaternions: ArrayLike) -> Array:
    """Rotation matrices of quaternions, which are normalized first."""
    q = unit(quaternions)
    w, v = q[..., 0], q[..., 1:]
    outer = 2.0 * v[..., :, None] * v[..., None, :]
    diagonal = (1.0 - 2.0 * np.sum(v * v, axis=-1))[..., None, None] * _IDENTITY
    rotations: Array = diagonal + outer + 2.0 * w[..., None, None] * cross_matrix(v)
    return rotations


def quaternion(rotations: ArrayLike) -> Array:
    """Unit quaternions of matrices, with w first and not negative.

    Of four formulas, each row uses the one with the largest component, to avoid division by small numbers.
    """
    r = array(rotations)
    if (r == _IDENTITY).all():  # by far the most frequent one
        identity = np.zeros((*r.shape[:-2], 4))
        identity[..., 0] = 1.0
        return identity
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    trace = xx + yy + zz
    candidates = np.empty((*r.shape[:-2], 4, 4))
    wx, wy, wz = r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]
    xy, xz, yz = r[..., 0, 1] + r[..., 1, 0], r[..., 0, 2] + r[..., 2, 0], r[..., 1, 2] + r[..., 2, 1]
    candidates[..., 0, :] = np.stack([1.0 + trace, wx, wy, wz], axis=-1)
    candidates[..., 1, :] = np.stack([wx, 1.0 + xx - yy - zz, xy, xz], axis=-1)
    candidates[..., 2, :] = np.stack([wy, xy, 1.0 - xx + yy - zz, yz], axis=-1)
    candidates[..., 3, :] = np.stack([wz, xz, yz, 1.0 - xx - yy + zz], axis=-1)
    best = np.argmax(np.stack([trace, xx, yy, zz], axis=-1), axis=-1)
    chosen = unit(np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :])
    chosen = without_noise(chosen)
    return np.where(chosen[..., :1] < 0.0, -chosen, chosen)


def rotation_from_z(normals: ArrayLike) -> Array:
    """Rotations that map the z axis to the given unit vectors."""
    normal = array(normals)
    helper = _IDENTITY[np.argmin(np.abs(normal), axis=-1)]
    x = unit(np.cross(helper, normal))
    return np.stack([x, np.cross(normal, x), normal], axis=-1)


def transform(rotations: ArrayLike, positions: ArrayLike) -> Array:
    """4x4 transforms of rotations and positions."""
    r, p = array(rotations), array(positions)
    shape = p.shape[:-1] if r.ndim == 2 else np.broadcast_shapes(r.shape[:-2], p.shape[:-1])
    out = np.zeros((*shape, 4, 4))
    out[..., :3, :3] = r
    out[..., :3, 3] = p
    out[..., 3, 3] = 1.0
    return out


def identity(count: int) -> Array:
    """`count` identity transforms."""
    return np.tile(np.eye(4), (count, 1, 1))


def inverse(transforms: ArrayLike) -> Array:
    """The inverses of rigid transforms."""
    t = array(transforms)
    back = np.swapaxes(t[..., :3, :3], -1, -2)
    return transform(back, -(back @ t[..., :3, 3:])[..., 0])


def pose7(transforms: ArrayLike) -> Array:
    """Transforms as rows of x y z qw qx qy qz."""
    t = array(transforms)
    return np.concatenate([t[..., :3, 3], quaternion(t[..., :3, :3])], axis=-1)


def rotate_moment(rotations: ArrayLike, moments: ArrayLike) -> Array:
    """Inertia tensors in rotated axes: R I R^T."""
    r = array(rotations)
    return r @ array(moments) @ np.swapaxes(r, -1, -2)


def point_moment(offsets: ArrayLike) -> Array:
    """The inertia tensors of unit point masses at `offsets`: |r|^2 1 - r r^T."""
    r = array(offsets)
    tensors: Array = np.sum(r * r, axis=-1)[..., None, None] * _IDENTITY - r[..., :, None] * r[..., None, :]
    return tensors


def moment_matrix(entries: ArrayLike) -> Array:
    """Symmetric tensors of rows ixx iyy izz ixy ixz iyz; the off-diagonals are entries of the tensor."""
    e = array(entries)
    index = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
    return e[..., index]


def moment_entries(tensors: ArrayLike) -> Array:
    """Rows ixx iyy izz ixy ixz iyz of symmetric tensors."""
    t = array(tensors)
    return np.stack([t[..., 0, 0], t[..., 1, 1], t[..., 2, 2], t[..., 0, 1], t[..., 0, 2], t[..., 1, 2]], axis=-1)
