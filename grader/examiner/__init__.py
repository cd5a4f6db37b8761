"""Grades one notebook; student code and tests in two processes. Imports no check: the lesson's
own cells do, where they run. How it works is told in docs/how-it-works.md."""
