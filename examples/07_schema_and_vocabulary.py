"""Look up elements in the vocabulary of a format, and validate documents with its XML Schema."""

from lxml import etree

import exoskel
from exoskel.formats.registry import by_name
from exoskel.source.schema import build_schema

vocabulary = by_name("skel").vocabulary()
for path, element in vocabulary.find("axis/limit"):
    print(path, "-", element.meaning, element.reader_note)

validator = etree.XMLSchema(etree.fromstring(build_schema(vocabulary)))
document = etree.fromstring("<skel version='1.0'><world><physics><gravity>0 0</gravity></physics></world></skel>")
print("valid:", validator.validate(document))
print(validator.error_log[0].message.split("]")[0] + "]")

# Saved files are always valid.
world = exoskel.World(name="lab")
world.add_model("top").add_body("disc", shapes=[exoskel.Cylinder(0.1, 0.02)], density=700.0, joint="ball")
exoskel.save(world, "top.skel")
print("saved file valid:", validator.validate(etree.parse("top.skel")))
print(exoskel.run(exoskel.load("top.skel"), 0.5))
# exoskel.show(world) opens it in the browser.
