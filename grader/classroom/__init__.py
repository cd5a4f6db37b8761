"""Grades many: the sample class, nbgrader's steps, the table. The only room besides build.py
that imports nbgrader; knows nothing of what a check asks."""
