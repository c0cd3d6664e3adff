"""Binary glTF 2.0 (`.glb`): still scenes and animations.  Written, not read."""
