"""From MJCF to a scene: MuJoCo compiles, and what it has compiled is taken apart again."""
