#!/bin/sh
# Shows what exoskel does, in under a minute.  Run by `make demo`.
set -e

title() {
    printf '\n\033[1m== %s\033[0m\n$ %s\n' "$1" "$2"
}

title "List the bundled samples" "exoskel samples"
exoskel samples

title "Show the contents of a scene" "exoskel info dart://sample/skel/walker.skel"
exoskel info dart://sample/skel/walker.skel

title "Check an old file: all problems at once (DART 6 stops at the first one, or crashes)" \
    "exoskel check --quiet examples/files/old_robot.skel"
exoskel check --quiet examples/files/old_robot.skel || true

title "Explain a diagnostic" "exoskel explain SK062"
exoskel explain SK062

title "Describe an element" "exoskel describe inertia"
exoskel describe inertia

title "Read XODE: a mechanism with closed loops" "exoskel info dart://sample/xode/four_bar.xode"
exoskel info dart://sample/xode/four_bar.xode

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
title "Convert a file: a fate for every node, and a certificate that compares the physics" \
    "exoskel convert dart://sample/skel/gyroscope.skel gyroscope.xode"
exoskel convert dart://sample/skel/gyroscope.skel "$out/gyroscope.xode"

title "Compare the meaning of two files in different formats" \
    "exoskel diff dart://sample/skel/gyroscope.skel gyroscope.xode"
exoskel diff dart://sample/skel/gyroscope.skel "$out/gyroscope.xode"

mkdir -p out
title "Convert one scene to five more formats, each with its certificate" \
    "exoskel convert dart://sample/skel/robot_arm.skel robot_arm.xml   # also .sdf, .usda, .glb, and its arm as .urdf"
for extension in xml sdf usda glb urdf; do
    model=$([ "$extension" = urdf ] && echo "--model arm" || true)
    # shellcheck disable=SC2086 # an empty $model must not become an argument
    exoskel convert dart://sample/skel/robot_arm.skel "out/robot_arm.$extension" $model |
        sed -n '/(SKEL)/p;/^certificate/,$p'
done

title "Simulate with MuJoCo, with a plot and a file of the motion" \
    "exoskel run dart://sample/skel/walker.skel --time 3 --plot out/walker.png --out out/walker.npz"
exoskel run dart://sample/skel/walker.skel --time 3 --plot out/walker.png --out out/walker.npz
exoskel run dart://sample/xode/ragdoll.xode --time 3 --plot out/ragdoll.png --out out/ragdoll.npz
echo "Plots: out/walker.png, out/ragdoll.png; motions: out/walker.npz, out/ragdoll.npz"

title "Compare MuJoCo with ODE" \
    "exoskel compare dart://sample/xode/four_bar.xode --engines mujoco,ode --plot out/four_bar.png"
exoskel compare dart://sample/xode/four_bar.xode --engines mujoco,ode --plot out/four_bar.png ||
    echo "(ODE is not installed: pip install 'exoskel[ode]')"

title "Use it from Python" "python examples/01_load_and_inspect.py"
python "$(dirname "$0")/01_load_and_inspect.py"
