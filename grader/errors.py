"""The one error that people meet at the command line. Imports nothing of ours."""


class CourseError(Exception):
    """Something a person must know: what happened, where, and what to do next.

    The text is shown as it is, without a traceback, and the command ends with status 2.
    """
