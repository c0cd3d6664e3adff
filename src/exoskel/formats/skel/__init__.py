"""SKEL, the XML format of DART."""
