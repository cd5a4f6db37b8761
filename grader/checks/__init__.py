"""What the students' code must satisfy, one file a lesson; `ask.py` is what they are made of.

Checks see student code through `ask` (and so `observe`) alone, and know no misconception."""
