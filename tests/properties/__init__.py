"""Properties of every valid document, tested on documents generated from the vocabularies."""
