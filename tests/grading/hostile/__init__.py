"""Submissions that are broken or want to cheat, each graded between two honest ones.

Every line of the list of faults and cheats has a test here, except those that are about taking in
and bookkeeping, which the engine never sees: zips and paths in them, file names and several
candidates, symbolic links, student ids and formulas in the CSV, a broken resubmission, a locked
database, a full disk, two graders at once, a grader that is killed, SQLite triggers. What is shown
in a browser is tested in tests/unit/test_harmless.py and tests/browser.
"""
