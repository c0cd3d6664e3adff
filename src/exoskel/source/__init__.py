"""From bytes to checked structure: documents, positions, vocabularies, references."""
