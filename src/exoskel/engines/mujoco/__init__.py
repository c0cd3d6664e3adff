"""MuJoCo, on the CPU and (through MuJoCo Warp) on a GPU."""
