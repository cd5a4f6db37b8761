"""Makes what a student wrote or printed harmless to the browser that shows it.

Text in, text out; nothing here knows of lessons, answers or grading."""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode

from grader.examiner.png import png
from grader.lesson import node

LONGEST_MARKDOWN = 20_000
LONGEST_OUTPUT = 10_000
MOST_OUTPUTS = 50
CUT = " … (the rest is left out)"

# A space goes behind each of these. Markdown, HTML and MathJax want what follows to touch, Python
# and formulas do not mind, and so nothing need be known about where code and formulas begin:
# there every renderer has its own opinion, and a filter that guessed differently would be a hole.
_OPENS = re.compile(
    r"""
    (?P<link> \]\( (?: https?:// | mailto: | \# ) (?: [A-Za-z0-9\-._~:/?\#!+,;=%&*] | @(?!@) )* \) )
    | < (?= [A-Za-z/!?] )    # a tag, a comment, an <autolink:>
    | & (?= [A-Za-z\#] )     # an entity, which could spell any of the others
    | ! (?= \[ )             # an image: all of them, for an answer has no pictures of its own
    | \] (?= [(\[:] )        # a link that is not allowed, a reference and what it refers to
    | ftp: (?= // )          # which some renderers make a link without being asked
    | (?: (?<!`) `{3,}+ | (?<!~) ~{3,}+ ) (?= [ \t]* mermaid )    # raw HTML in nbconvert
    | @ (?= @ )              # @@0@@ is JupyterLab's name for the first formula
    | \\ (?= (?: href | require | style | class | cssId | data | mmlToken | bbox | includegraphics
               | html[A-Z][a-z]+ ) (?![A-Za-z]) )    # MathJax macros that write HTML attributes
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def markdown(text: str) -> str:
    """A student's Markdown without HTML, images and links other than http(s), mailto and #.

    Nothing is taken away (but what exceeds LONGEST_MARKDOWN): `<b>` becomes `< b>`, which every
    renderer shows as it stands, and formulas and code keep their meaning.
    """
    return _OPENS.sub(_spaced, _cut(printable(text), LONGEST_MARKDOWN))


def _spaced(match: re.Match[str]) -> str:
    if match["link"]:
        return re.sub("&(?!amp;)", "&amp;", match["link"])
    if match[0][0] in "`~":
        return match[0] + "text "  # a block in the language "text"
    return match[0] + " "


def printable(text: str) -> str:
    """`text` without ANSI sequences and control characters; every line ends in a newline only."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _ANSI.sub("", re.sub("\r\n?", "\n", text)))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + CUT


def outputs(found: object) -> list[NotebookNode]:
    """What of a code cell's outputs may be shown: text, and PNG pictures of a decent size.

    An exception becomes text. Anything else (HTML, SVG, JavaScript, LaTeX, widgets) is left out.
    """
    listed = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    shown = (_output(one) for one in listed[:MOST_OUTPUTS])
    return [one for one in shown if one is not None]


def _output(found: dict[str, Any]) -> NotebookNode | None:
    match found.get("output_type"):
        case "stream":
            name = "stderr" if found.get("name") == "stderr" else "stdout"
            return _stream(name, joined(found.get("text")))
        case "error":
            return _stream("stderr", joined(found.get("traceback"), "\n"))
        case "display_data" | "execute_result":
            return _display(found.get("data"))
    return None


def _stream(name: str, text: str) -> NotebookNode | None:
    text = _cut(printable(text), LONGEST_OUTPUT)
    return node(output_type="stream", name=name, text=text) if text else None


def _display(found: object) -> NotebookNode | None:
    if not isinstance(found, dict):
        return None
    text = _cut(printable(joined(found.get("text/plain"))), LONGEST_OUTPUT)
    shown = {"image/png": _png(joined(found.get("image/png"))), "text/plain": text}
    data = node(**{kind: value for kind, value in shown.items() if value})
    return node(output_type="display_data", metadata=node(), data=data) if data else None


def joined(found: object, between: str = "") -> str:
    """The text of a notebook's field: a string, or a list of lines; anything else is no text."""
    if isinstance(found, str):
        return found
    lines: Iterable[Any] = found if isinstance(found, list) else ()
    return between.join(line for line in lines if isinstance(line, str))


def _png(encoded: str) -> str | None:
    try:
        return png(base64.b64decode("".join(encoded.split()), validate=True))
    except (binascii.Error, ValueError):
        return None
