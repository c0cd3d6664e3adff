"""Merge the models of several files into one world."""

import exoskel

floor = exoskel.load("dart://sample/skel/falling_boxes.skel")
walker = exoskel.load("dart://sample/skel/walker.skel")
merged = exoskel.merge(floor, walker)

print([model.name for model in merged.world.models])

# Settings come from the first scene; diagnostics report settings that differ and models that were renamed.
for diagnostic in merged.diagnostics:
    if diagnostic.code.startswith("MG"):
        print(diagnostic.message)

# Every item still refers to its file.
model = merged.world.models[-1]
source = merged.documents[model.document]
print(f"{model.name!r} comes from {source.name}")
