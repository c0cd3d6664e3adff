#!/bin/sh
# What exoskel does, in under a minute.  Run by `make demo`.
set -e

title() {
    printf '\n\033[1m== %s\033[0m\n$ %s\n' "$1" "$2"
}

title "The scenes that come with it" "exoskel samples"
exoskel samples

title "What is in a scene" "exoskel info dart://sample/skel/walker.skel"
exoskel info dart://sample/skel/walker.skel

title "All that is wrong with an old file, at once (DART 6 stops at the first, or crashes)" \
    "exoskel check examples/files/old_robot.skel"
exoskel check --quiet examples/files/old_robot.skel || true

title "What a diagnostic means" "exoskel explain SK062"
exoskel explain SK062

title "What an element means" "exoskel describe inertia"
exoskel describe inertia

title "An XODE scene: bodies tied by joints, in loops, as a tree" "exoskel info dart://sample/xode/four_bar.xode"
exoskel info dart://sample/xode/four_bar.xode

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
title "A conversion, with an account of every node and its certificate" \
    "exoskel convert dart://sample/skel/gyroscope.skel gyroscope.xode"
exoskel convert dart://sample/skel/gyroscope.skel "$out/gyroscope.xode"

title "The same meaning? Across formats" "exoskel diff dart://sample/skel/gyroscope.skel gyroscope.xode"
exoskel diff dart://sample/skel/gyroscope.skel "$out/gyroscope.xode"

mkdir -p out
title "One scene in five living formats, each with its certificate" \
    "exoskel convert dart://sample/skel/robot_arm.skel robot_arm.xml   # and .sdf, .usda, .glb, and its arm as .urdf"
for ending in xml sdf usda glb urdf; do
    model=$([ "$ending" = urdf ] && echo "--model arm" || true)
    # shellcheck disable=SC2086 # no model, no argument
    exoskel convert dart://sample/skel/robot_arm.skel "out/robot_arm.$ending" $model | sed -n '/(SKEL)/p;/^certificate/,$p'
done

title "How it moves: on MuJoCo, with a picture and a file" \
    "exoskel run dart://sample/skel/walker.skel --time 3 --plot out/walker.png --out out/walker.npz"
exoskel run dart://sample/skel/walker.skel --time 3 --plot out/walker.png --out out/walker.npz
exoskel run dart://sample/xode/ragdoll.xode --time 3 --plot out/ragdoll.png --out out/ragdoll.npz
echo "Pictures: out/walker.png, out/ragdoll.png; motions: out/walker.npz, out/ragdoll.npz"

title "The same world in MuJoCo and in real ODE" \
    "exoskel compare dart://sample/xode/four_bar.xode --engines mujoco,ode --plot out/four_bar.png"
exoskel compare dart://sample/xode/four_bar.xode --engines mujoco,ode --plot out/four_bar.png ||
    echo "(needs pip install 'exoskel[ode]')"

title "From Python" "python examples/01_load_and_look.py"
python "$(dirname "$0")/01_load_and_look.py"
