"""Put the models of several files into one world."""

import exoskel

floor = exoskel.load("dart://sample/skel/falling_boxes.skel")
walker = exoskel.load("dart://sample/skel/walker.skel")
merged = exoskel.merge(floor, walker)

print([model.name for model in merged.world.models])

# Settings come from the first scene; what was overruled or renamed is told.
for finding in merged.diagnostics:
    if finding.code.startswith("MG"):
        print(finding.message)

# Items still know the file they came from.
model = merged.world.models[-1]
source = merged.documents[model.document]
print(f"{model.name!r} comes from {source.name}")
