"""No student's Markdown or output makes a reader's browser run or fetch anything."""

import base64
import struct
import time
from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from grader.examiner import harmless

ALLOWED = ("http://", "https://", "mailto:", "#")
HARMLESS_TAGS = {
    "p",
    "a",
    "em",
    "strong",
    "del",
    "code",
    "pre",
    "span",
    "div",
    "br",
    "hr",
    "ul",
    "ol",
    "li",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "dl",
    "dt",
    "dd",
    "input",
}
ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT\n>alert(1)</SCRIPT>",
    "<<script>script>alert(1)",
    "<\x00script>alert(1)</script>",
    "<\x1b[0mscript>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<?php ?><![CDATA[<img src=x onerror=alert(1)>]]>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x]( javascript:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6A;avascript&colon;alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](\\javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "[x](//evil.example/a)",
    "[x](file:///etc/passwd)",
    '[x](http://a.example/"onclick="alert(1))',
    "[x](http://a.example 'y\" onclick=\"alert(1)')",
    "[a [b](javascript:alert(1)) c](http://a.example)",
    "[[x]](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "![x](http://a.example/track.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![a [b](http://a.example)](http://b.example)",
    "[![x](javascript:a)](javascript:b)",
    "![x](attachment:missing.png)",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "[r]\n\n[r]:javascript:alert(1)\n",
    "![r]\n\n[r]: http://a.example/track.png 'x'\n",
    "[x]\r[r]\r\r[r]:\rjavascript:alert(1)",
    "> [r]\n> \n> [r]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "<http://a.example/'onclick=alert(1)>",
    "<x@a.example>",
    "$<img src=x onerror=alert(1)>$",
    "$$<img src=x onerror=alert(1)>$$",
    "\\begin{a}<img src=x onerror=alert(1)>\\end{a}",
    "`<img src=x onerror=alert(1)>`",
    "``` mermaid\n<img src=x onerror=alert(1)>\n```",
    "~~~mermaid\n</pre><script>alert(1)</script>\n~~~",
    "```html\n<script>alert(1)</script>\n```",
    "    <script>alert(1)</script>",
    "# <img src=x onerror=alert(1)>",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    'http://a.example/"onclick=alert(1)',
    "https://a.example/<script>alert(1)</script>",
    '[x](http://a.example/@@0@@) $" onclick="alert(1)$',
]
SEAMS = ["", " ", "\n", "\n\n", "`", "``", "```\n", "$", "$$", "\\", "[", "](", ")", "<", ">", "&",
         "> ", "- ", "*", "!", "|", "\\[", "\\(", "\t", "~~~\n", "@", "\x00", "\r"]  # fmt: skip


class Page(HTMLParser):
    """Collects what in a piece of HTML could run or fetch."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in HARMLESS_TAGS:
            self.bad.append(f"<{tag}>")
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value or "")
                if not (value or "").startswith(ALLOWED):
                    self.bad.append(f"{name}={value}")
            elif name not in (
                "class",
                "id",
                "title",
                "style",
                "start",
                "type",
                "disabled",
                "checked",
            ):
                self.bad.append(name)

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.bad.append("<!--")

    def handle_decl(self, decl: str) -> None:
        self.bad.append("<!")

    def handle_pi(self, data: str) -> None:
        self.bad.append("<?")

    def unknown_decl(self, data: str) -> None:
        self.bad.append("<![")

    @property
    def text(self) -> str:
        return "".join(self.words)


def rendered(markdown: str) -> Page:
    return Page(markdown2html_mistune(harmless.markdown(markdown)))


def by_the_book(markdown: str) -> Page:
    """By a second renderer, which keeps to CommonMark and allows everything that it can."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    renderer.validateLink = lambda url: True  # type: ignore[method-assign]
    return Page(renderer.render(harmless.markdown(markdown)))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_dead(attack: str) -> None:
    assert rendered(attack).bad == []
    assert by_the_book(attack).bad == []


def test_most_attacks_work_without_the_filter() -> None:
    """So that the test above can fail."""
    parsable = [attack for attack in ATTACKS if "attachment:" not in attack]  # that one raises
    alive = [attack for attack in parsable if Page(markdown2html_mistune(attack)).bad]
    assert len(alive) > 25


pieces = st.one_of(st.sampled_from(ATTACKS), st.sampled_from(SEAMS), st.text(max_size=3))


@settings(max_examples=1500, deadline=None)
@given(st.lists(pieces, max_size=9).map("".join))
def test_no_composition_of_attacks_is_alive(text: str) -> None:
    page = rendered(text)
    assert page.bad == []
    assert by_the_book(text).bad == []
    assert "\\href" not in page.text  # which MathJax would turn into a link


@given(st.lists(pieces, max_size=9).map("".join))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = harmless.markdown(text)
    assert harmless.markdown(once) == once


def test_ordinary_markdown_stays_as_it_is() -> None:
    text = (
        "## Why\n\n*Because* `exp(1000)` **overflows** when x < 3 & y <= 2:\n\n- $a_i \\le b$\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nif row[0] < 1: pass\n```\n\n"
        "$$\\frac{e^{s_i}}{\\sum_j e^{s_j}}$$\n\nSee [the paper](https://arxiv.org/abs/1706.03762) "
        "or [above](#idea) or [write](mailto:s01@school.example)."
    )
    assert harmless.markdown(text) == text


def test_allowed_links_work() -> None:
    page = rendered("[a](https://e.example/?x=1&copy=2) [b](#top) [c](mailto:s01@school.example)")
    assert page.links == ["https://e.example/?x=1&copy=2", "#top", "mailto:s01@school.example"]


def test_formulas_keep_their_meaning() -> None:
    html = markdown2html_mistune(harmless.markdown("$a<b$ and $$\\begin{matrix}a&b\\end{matrix}$$"))
    assert "$a&lt; b$" in html
    assert "a&amp; b" in html


def test_code_keeps_its_meaning() -> None:
    before = "x = f[0](1) if a<b else d[k][0]\ny: int = c[0]&m\n"
    after = harmless.markdown(before)
    assert compile(before, "", "exec").co_code == compile(after, "", "exec").co_code


@pytest.mark.parametrize("macro", ["href", "require", "style", "class", "cssId", "htmlStyle"])
def test_mathjax_macros_that_write_attributes_are_broken(macro: str) -> None:
    for text in (f"$\\{macro}{{javascript:alert(1)}}{{x}}$", f"&#36;\\{macro}{{x}}&#36;"):
        assert f"\\{macro}" not in rendered(text).text
    assert rendered("$\\hrefs \\styles$").text == "$\\hrefs \\styles$\n"


@pytest.mark.parametrize(
    "piece",
    ["`", "~", "[", "](", "![", "<", ">", "> ", "- ", "*", "_", "$", "\\begin{a}", "&", "\\"],
)
def test_no_pattern_takes_long(piece: str) -> None:
    start = time.process_time()
    harmless.markdown(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 2


# --- outputs ----------------------------------------------------------------------------------


def png(width: int = 3, height: int = 2, more: bytes = b"") -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + more


def display(**data: object) -> dict[str, object]:
    return {"output_type": "display_data", "metadata": {}, "data": data}


def test_text_and_pictures_are_kept() -> None:
    picture = base64.b64encode(png()).decode()
    shown = harmless.outputs(
        [
            {"output_type": "stream", "name": "stderr", "text": ["one\n", "\x1b[31mtwo\x1b[0m\n"]},
            display(**{"image/png": picture[:8] + "\n" + picture[8:], "text/plain": "<Figure>"}),
            {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["a\x1b[0;1m", "b"]},
        ]
    )
    assert [one.get("text") for one in shown] == ["one\ntwo\n", None, "a\nb"]
    assert shown[1].data == {"image/png": picture, "text/plain": "<Figure>"}


@pytest.mark.parametrize(
    "kind",
    ["text/html", "image/svg+xml", "application/javascript", "text/latex", "text/markdown",
     "application/vnd.jupyter.widget-view+json", "application/json", "image/jpeg"],
)  # fmt: skip
def test_other_kinds_are_dropped(kind: str) -> None:
    assert harmless.outputs([display(**{kind: "<script>alert(1)</script>"})]) == []


@pytest.mark.parametrize(
    "picture",
    [
        b"<svg onload=alert(1)>",
        b"",
        b"\x89PNG\r\n\x1a\n",
        png(60_000, 60_000),
        png(more=b"x" * 10**6),
    ],
    ids=["svg", "empty", "magic only", "huge when unpacked", "too large"],
)
def test_what_is_not_a_decent_png_is_dropped(picture: bytes) -> None:
    assert harmless.outputs([display(**{"image/png": base64.b64encode(picture).decode()})]) == []


def test_a_picture_cannot_leave_its_attribute() -> None:
    encoded = base64.b64encode(png()).decode()
    assert harmless.outputs([display(**{"image/png": encoded + '" onload="alert(1)'})]) == []


def test_long_output_is_cut() -> None:
    shown = harmless.outputs([{"output_type": "stream", "name": "stdout", "text": "x" * 10**6}])
    assert len(shown[0].text) < 11_000
    assert shown[0].text.endswith(harmless.CUT)
    many = [{"output_type": "stream", "name": "stdout", "text": "x"}] * 1000
    assert len(harmless.outputs(many)) == harmless.MOST_OUTPUTS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
odd_outputs = st.fixed_dictionaries(
    {"output_type": st.sampled_from(["stream", "error", "display_data", "execute_result", "x"])},
    optional={
        "text": json_values,
        "name": json_values,
        "traceback": json_values,
        "data": st.dictionaries(st.sampled_from(["image/png", "text/plain"]), json_values),
    },
)


@given(st.lists(odd_outputs | json_values) | json_values)
def test_any_outputs_become_valid_ones(found: object) -> None:
    cell = nbformat.v4.new_code_cell(outputs=harmless.outputs(found))
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


def test_a_page_made_by_nbconvert_holds_nothing_of_the_attacks() -> None:
    cells = [nbformat.v4.new_markdown_cell(harmless.markdown(attack)) for attack in ATTACKS]
    text = "\x1b]8;;javascript:alert(1)\x07<script>alert(1)</script>"
    shown = harmless.outputs(
        [
            {"output_type": "stream", "name": "stdout", "text": text},
            display(**{"text/plain": text, "text/html": text}),
            {"output_type": "error", "ename": text, "evalue": text, "traceback": [text]},
        ]
    )
    cells.append(nbformat.v4.new_code_cell("'<script>'", outputs=shown))
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(
        nbformat.v4.new_notebook(cells=cells)
    )
    page = Page(html)
    assert [one for one in page.bad if one not in ("<main>", "tabindex")] == []
