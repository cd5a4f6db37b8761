"""Grades one notebook. Imports no check: the lesson's own cells do, where they run."""
