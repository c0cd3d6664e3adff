"""Compressed numbers of glTF files, as meshoptimizer 0.30 encodes them."""

from __future__ import annotations

from base64 import b64decode

import numpy as np

ROW = np.arange(40)
WHOLE = np.stack([ROW * 7 % 50, ROW * ROW % 91, ROW * 300, 0 * ROW], axis=1).astype("<i2")
FLOATS = np.stack([ROW / 4, ROW % 7 * 0.5, -ROW], axis=1).astype("<f4")
TRIANGLES = np.array(
    [(8 * r + c, 8 * r + c + 1, 8 * r + c + 8) for r in range(4) for c in range(7)] + [(39, 5, 17), (3, 20, 31)]
)
INDICES = np.array([k * 3 % 40 if k % 2 else 39 - k % 40 for k in range(30)])
ANGLE = np.radians(9.0 * ROW)
QUATERNIONS = np.stack([0.6 * np.sin(ANGLE / 2), 0.8 * np.sin(ANGLE / 2), 0 * ANGLE, np.cos(ANGLE / 2)], axis=1)
DIRECTIONS = np.stack([0.8 * np.cos(ANGLE), 0.8 * np.sin(ANGLE), 0 * ANGLE - 0.6, 0 * ANGLE], axis=1)
ENCODED = {
    "whole": (
        "oCoO7u7u/u7u71VV7u7u/u7u7+5VVe7u/u4AAAAAVQAfAAIGCg4SFhoeIo8qLjJ/Oj5zRkpnUl9aV2JPS25Ddjv//wAAN4IvKycjlhsA"
        "HwBYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhY//8AAFhYWFhYWFhYFSququoEBK6q6q4EBASrqgAABAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAA="
    ),
    "floats": (
        "oAAALwD//4CAQEBAQCAgICAgICAgEBAQEBAQEBAQEBAQEBAQ+IiIiAAAAAAQETgAgAB8gAAAAAAAHwAA/4CAQEB/AP+AgEBAfwD/gIBA"
        "QH8A/4CAQEB/AP+A/z8AAIBAQH//gIAVMIPCD35/fn9+CDwg8H9+f36DwgAAf34AAC8A//+AgEBAQEAgICAgICAgIBAQEBAQEBAQEBAQ"
        "EBAQEPiIiIgAAAAAEBE4AIAAgYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
    ),
    "whole, version 1": (
        "obmnKg7u7u7+7u7vVVXu7u7+7u7v7lVV7u7+7gAAAABVAAIGCg4SFhoeIo8qLjJ/Oj5zRkpnUl9aV2JPS25Ddjs3gi8rJyOWGwBYWFhY"
        "WFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFgVKqqqqqqqqqqqqgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB"
    ),
    "floats, version 1": (
        "oTpaOgAAAICAQEBAQCAgICAgICAgEBAQEBAQEBAQEBAQEBAQEAgICAgICAgBBgB9AQD4fICAQEB/gIBAQH8+n4CAQEB/gIBAQH+AzwCA"
        "QEB/gIAEhsN+AYB+AYB+QD0A9IB+gH44AIB+AQD/AICAQEBAQCAgICAgICAgEBAQEBAQEBAQEBAQEBAQEAgICAgICAgBBgCAAQAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAEBAQ=="
    ),
    "floats, combined bits": (
        "oWhpaAECAQ8fGg//+Pj0xPTEoGAQMBj4HPJi4mLyYuJiPB7d3QAAfgMHAxUQwkMJAwMMJDCQAwPCQwAAAwMZPt77e/gE/gP4BP4D+ELx"
        "MvQvEy9C/vj++N77AAD+A/gE/gEGAC8fGg//+Pj0xPTE4OAQMBh4HPJi4mLyYuJiPB7d3QAA/gMHAwAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AGIyYg=="
    ),
    "triangles": (
        "4f7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7//w8Q8gLyAvIC8gLyAvICvwS/Ar8CvwK/Ar8CDwLPBM8CzwLPAs8CvwIPAs8EzwLP"
        "As8CzwK/Ag8C/wJDGPUbIgB2h1ZneKmGZYlomAFpAAA="
    ),
    "indices": ("0Z0BDAdvaU9JLykPCREXMTdPSS8pDwkRFzE3UVcvKQ8AAAAA"),
    "quaternions": (
        "oBcA7+/19//47uLWyLpRAAAAAAAAP1G6yP//AADW4u74//f17xUIiCLACQAAADgLgiIAAB8Ak5eZoau1wdHh8/Z1hnJkVkpCPDo6PEJK"
        "VmRyhnX28///AADh0cG1q6GZlxUKKIgRVRVUQiKKAAANAAAA//qYhnJeSjYgCgkfNUldcYWX+QAABQAAAMgKAAABMAkFAAAAwAMAAAAw"
        "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD/Bw=="
    ),
    "directions": (
        "oB8Artz+59nLx8PDzYHDw8fL2ef+3K6t2/3o2szIxMTOgv//AADExMjM2uj92xUERBNBDREIiCMOgiIAAB8AzsTEyMza6P3bra7c/ufZ"
        "y8fDw82Bw8PHy9nn/tyurf//AADb/ejazMjExBUIIiBEQTQREA2IggAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8HbQP/BwAA"
    ),
    "exponents": (
        "oAAaDw////iIiIhAIB8QEBAv9EREREREREQ36qoAADsAFRiAgACAAAAAgAAAAAAfAEAAIB8QEF9AACAfEBBfQAAgHxAQX0AAIB8QEF9A"
        "ACD/zwAAHxAQX0AgHwAVCIMiDAMDiDIgyAMDgyIAAAMAGg8P///3d3d3Px8gDw8PMPMzMzMzMzMzONVVAAA8ARAAAAAVKICAAIAAAACA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADyAAAA8gAAAPI="
    ),
}


def encoded(name: str) -> bytes:
    return b64decode(ENCODED[name])
