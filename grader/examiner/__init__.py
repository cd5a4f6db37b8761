"""Grades one notebook. Imports no check: the lesson's cells do, in a process of their own."""
