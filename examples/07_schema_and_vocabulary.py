"""Look up elements in the vocabulary of a format, and validate a document with its XML Schema."""

from lxml import etree

from exoskel.formats.registry import by_name
from exoskel.source.schema import build_schema

vocabulary = by_name("skel").vocabulary()
for path, element in vocabulary.find("axis/limit"):
    print(path, "-", element.meaning, element.reader_note)

validator = etree.XMLSchema(etree.fromstring(build_schema(vocabulary)))
document = etree.fromstring("<skel version='1.0'><world><physics><gravity>0 0</gravity></physics></world></skel>")
print("valid:", validator.validate(document))
print(validator.error_log[0].message.split("]")[0] + "]")
