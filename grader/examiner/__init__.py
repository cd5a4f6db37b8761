"""Grades one notebook: the student's code and the tests run in two processes."""
