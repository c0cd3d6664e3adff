"""What holds for every valid document, tried on documents generated from the vocabularies."""
