"""Attention from scratch: the lessons' checks, the build chain and the grader.

The map of the rooms and of who may import whom is docs/how-it-works.md."""

__version__ = "0.1.0"
