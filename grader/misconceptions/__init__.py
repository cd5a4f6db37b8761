"""The wrong implementations that people really write, one file a lesson, and what they are told.

A misconception is a family: the forms that people write under one name. Knows no check."""

from grader.misconceptions.family import Family, families, misconception, right, rights

__all__ = ["Family", "families", "misconception", "right", "rights"]
