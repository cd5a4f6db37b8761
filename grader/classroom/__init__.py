"""Grades many: the sample class, nbgrader's steps, the table. With build.py and
nbgrader_steps.py the only room that imports nbgrader; knows nothing of what a check asks."""
