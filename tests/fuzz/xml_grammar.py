"""Random XML documents from a grammar, most of them almost well-formed: declarations, document types, namespaces,
references, comments, instructions and CDATA sections, in several encodings.
"""

from __future__ import annotations

import random

_MISTAKE = 0.02
"""The chance that a piece is one that is rarely allowed where it is put."""

_NAMES = ("a", "b", "c", "robot", "x:a", "y:b", "_", "a.b-c", "é", "xmlfoo", "n1")
_ODD_NAMES = (
    "xmlns",
    "xml:a",
    "xmlns:x",
    "xmlns:xml",
    "x::y",
    ":a",
    "a:",
    "xml",
    "1",
    "-a",
    "a\u0301",
    "\u0301",
    "x:1",
    "",
)
_SPACES = (" ", " ", "\n", "\t", "\r\n", "  ")
_ODD_SPACES = ("", "\x0c", "\u00a0", "\u2028", "\u0085", "\0")
_TEXTS = ("1 2 3", "é", "😀", " ", "]]", ">", '"', "'", "&amp;", "&lt;", "&#65;", "&#x41;", "&#xFFFD;", "&#x10FFFF;", "<![CDATA[x]]>",
          "<![CDATA[]]]]><![CDATA[>]]>", "\x7f", "\x85", "--", "\ufeff", "%p;")  # fmt: skip
_ODD_TEXTS = ("]]>", "<", "&", "&a", "& ", "&&", "&;", "&u;", "&é;", "&x:y;", "&#0;", "&#55296;", "&#xFFFF;", "&#x110000;", "&#X41;", "&#-1;",
              "&# 65;", "&#99999999999999999999;", "\x01", "\x0b", "\ufffe", "\uffff", "<![CDATA[", "<![cdata[x]]>", "\0")  # fmt: skip
_COMMENTS = ("<!---->", "<!-- x -->", "<!-- <a> & ]]> ' \" -->", "<!-- é -->", "<!--x- -->", "<!-- <!ENTITY -->")
_ODD_COMMENTS = (
    "<!--",
    "<!--->",
    "<!-- -- -->",
    "<!-- --->",
    "<!-x->",
    "<!-- \x01 -->",
    "<!-- \ufffe -->",
    "<!--x--y-->",
)
_INSTRUCTIONS = (
    "<?a?>",
    "<?a b?>",
    "<?a:b c?>",
    "<?a ?b?>",
    "<?a<b>?>",
    "<?xml-stylesheet href='x'?>",
    "<?é?>",
    "<?xmlversion encoding='latin-1'?>",
)
_ODD_INSTRUCTIONS = (
    "<?xml version='1.0'?>",
    "<?XmL x?>",
    "<? a?>",
    "<?a",
    "<?1?>",
    "<?xml?>",
    "<?a\x01?>",
    "<?xml encoding='latin-1'?>",
)
_NAMESPACES = (
    "",
    "u",
    "urn:u",
    "rel/a",
    ">",
    "http://www.w3.org/2000/xmlns/",
    "http://www.w3.org/XML/1998/namespace",
    "1 2",
    "%",
)
_AFTER = (
    "</a>",
    "x",
    "<b/>",
    "\0",
    "]]>",
    "&amp;",
    "&#10;",
    "<![CDATA[ ]]>",
    "\ufeff",
    "<",
    "<!",
    "\x1a",
    "<!DOCTYPE a>",
    "<x:b>",
)
_VERSIONS = ("1.0", "1.0", "1.0", "1.0", "1.1", "2.0", "1", "", "a")
_ENCODINGS = (
    " encoding='utf-8'",
    " encoding='UTF-8'",
    " encoding='us-ascii'",
    ' encoding="ISO-8859-1"',
    " encoding = 'utf-8'",
)
_ODD_ENCODINGS = (" encoding=''", "encoding='utf-8'", " ENCODING='utf-8'", " encoding='1'", " encoding='utf 8'", " encoding='utf-8\"",
                  " encoding='utf-8' encoding='utf-8'", " encoding='nonsense'")  # fmt: skip
_STANDALONE = ("", "", " standalone='yes'", " standalone='no'")
_ODD_STANDALONE = (" standalone='YES'", " standalone='maybe'", " standalone=yes", "standalone='yes'")
_EXTERNAL = ("", "", " SYSTEM 'x'", " PUBLIC 'p' 's'", ' SYSTEM "\'"', " SYSTEM 'a]>b'")
_ODD_EXTERNAL = (" SYSTEM", " PUBLIC 'p'", " PUBLIC '{}' 's'", " system 'x'")
_DECLARATIONS = (
    "<!ELEMENT a ANY>", "<!ELEMENT a EMPTY>", "<!ELEMENT a (b,c)>", "<!ELEMENT a (#PCDATA|b)*>", "<!ELEMENT a (b?,c*,d+)+>",
    "<!ELEMENT x:a ANY>", "<!ATTLIST a b CDATA #IMPLIED>", "<!ATTLIST a b CDATA '&lt;'>", '<!ATTLIST a b (x|y) "x">', "<!ATTLIST a>",
    "<!ATTLIST a b NOTATION (n) #REQUIRED>", "<!ATTLIST a b ID #FIXED 'x' c IDREFS #IMPLIED>", "<!ATTLIST a xmlns CDATA 'u'>",
    "<!ATTLIST a xmlns:x CDATA 'u'>", "<!ATTLIST x:a x:b CDATA '1' x:b CDATA '2'>", "<!ATTLIST a b CDATA ']>'>",
    '<!ATTLIST a b CDATA "\'">', "<!NOTATION n SYSTEM 'x'>", "<!NOTATION n PUBLIC 'x'>", "%p;", " ", "\n", "<!-- ' -->", '<!-- " -->',
    "<!-- <!ENTITY -->", "<?p ' ?>", '<?p "?>',
)  # fmt: skip
_ODD_DECLARATIONS = (
    "<!ELEMENT a (#PCDATA|b)>", "<!ELEMENT a (b|c,d)>", "<!ELEMENT a>", "<!ELEMENT a ANY ANY>", "<!ATTLIST a b CDATA 'x<y'>",
    "<!ATTLIST a b CDATA '&u;'>", "<!ATTLIST a b CDATA>", "<!NOTATION n>", "%p", "%", "<![INCLUDE[<!ELEMENT a ANY>]]>", "text", "]",
    "<a/>", "<!FOO>", "<!element a ANY>", "<!ENTITYx 'y'>",
)  # fmt: skip
_ENTITIES = (
    "<!ENTITY u 'y'>", "<!ENTITY  \n u\n'y'>", "<!ENTITY % p 'y'>", "<!ENTITY u SYSTEM 'x'>", "<!-- ' --><!ENTITY u 'y'><!-- ' -->",
    '<?p "?><!ENTITY u "y"><?p "?>', "<!ATTLIST a b CDATA '\"'><!ENTITY u 'y'>", "<!NOTATION n PUBLIC 'x'><!ENTITY u SYSTEM 'x' NDATA n>",
)  # fmt: skip


class Grammar:
    """Creates documents with the random numbers of `rng`."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def document(self, *, has_entities: bool = False) -> bytes:
        """A document; with `has_entities`, its document type declares an entity."""
        doctype = self._doctype(has_entities) if has_entities or self.rng.random() < 0.3 else ""
        root = self._element(0) + self._misc()
        text = self._declaration() + self._misc() + doctype + self._misc() + root
        if self.rng.random() < 0.15:
            text += self.rng.choice(_AFTER)
        if not has_entities and self.rng.random() < 0.1:
            at = self.rng.randrange(len(text) + 1)
            text = text[:at] + text[at + self.rng.choice((1, 1, 2, 4)) :]
        return self._encode(text)

    def _encode(self, text: str) -> bytes:
        chance = self.rng.random()
        if chance < 0.8:
            data = text.encode()
        elif chance < 0.92:
            data = text.encode(self.rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")))
        else:
            data = text.encode("latin-1", "replace")
        if self.rng.random() < 0.04:
            at = self.rng.randrange(len(data) + 1)
            data = data[:at] + self.rng.randbytes(1) + data[at + self.rng.randrange(2) :]
        return data

    def _pick(self, usual: tuple[str, ...], odd: tuple[str, ...] = ()) -> str:
        return self.rng.choice(odd if odd and self.rng.random() < _MISTAKE else usual)

    def _several(self, most: int) -> range:
        return range(self.rng.randrange(most + 1))

    def _declaration(self) -> str:
        if self.rng.random() < 0.6:
            return ""
        encoding = self._pick(_ENCODINGS, _ODD_ENCODINGS) if self.rng.random() < 0.5 else ""
        parts = [encoding, self._pick(_STANDALONE, _ODD_STANDALONE)]
        if self.rng.random() < _MISTAKE:
            parts.reverse()
        start = self._pick(("<?xml ",), (" <?xml ", "\ufeff<?xml ", "<?xml", "<?XML "))
        version = self.rng.choice(_VERSIONS) if self.rng.random() < 0.1 else "1.0"
        return f"{start}version='{version}'{''.join(parts)}?>"

    def _misc(self) -> str:
        chosen = ((_SPACES, _ODD_SPACES), (_COMMENTS, _ODD_COMMENTS), (_INSTRUCTIONS, _ODD_INSTRUCTIONS))
        return "".join(self._pick(*self.rng.choice(chosen)) for _ in self._several(2))

    def _doctype(self, has_entities: bool) -> str:
        parts = [self._pick(_DECLARATIONS, _ODD_DECLARATIONS) for _ in self._several(3)]
        if has_entities:
            parts.insert(self.rng.randrange(len(parts) + 1), self.rng.choice(_ENTITIES))
        subset = f"[{''.join(parts)}]" if parts else ""
        start, end = self._pick(("<!DOCTYPE ",), ("<!DOCTYPE", "<!doctype ")), self._pick((">", " >"), ("", " x>"))
        return start + self._pick(_NAMES, _ODD_NAMES) + self._pick(_EXTERNAL, _ODD_EXTERNAL) + subset + end

    def _element(self, depth: int) -> str:
        name = self._pick(_NAMES, _ODD_NAMES)
        start = (
            f"<{name}{''.join(self._attribute() for _ in self._several(2))}{self._pick(('', *_SPACES), _ODD_SPACES)}"
        )
        if depth > 3 or self.rng.random() < 0.4:
            return start + self._pick(("/>",), (">", "/ >", "/"))
        inner = "".join(self._content(depth) for _ in self._several(3))
        return f"{start}>{inner}</{self._pick((name,), _NAMES)}{self._pick(('',), _SPACES)}>"

    def _content(self, depth: int) -> str:
        chance = self.rng.random()
        if chance < 0.5:
            return self._element(depth + 1)
        return self._pick(_TEXTS, _ODD_TEXTS) if chance < 0.8 else self._misc()

    def _attribute(self) -> str:
        quote = self._pick(('"', "'"), ("", "`"))
        if self.rng.random() < 0.3:
            name = self.rng.choice(("xmlns", "xmlns:x", "xmlns:y", "xmlns:xmlns", "xmlns:xml"))
            value = self.rng.choice(_NAMESPACES)
        else:
            name = self._pick(_NAMES, _ODD_NAMES)
            value = self._pick(("1", "", ">", "a b", "\n", "&quot;", "&#9;", "é"), (*_ODD_TEXTS, "<", '"', "'"))
        return (
            self._pick(_SPACES, _ODD_SPACES)
            + name
            + self._pick(("=", " = "), ("==", "", "\n="))
            + quote
            + value
            + quote
        )
