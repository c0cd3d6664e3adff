"""XODE, the XML interchange format of the Open Dynamics Engine, in both of its dialects."""
