"""Takes docs/lesson.png, the README's picture: an answer, and the check that says what is wrong.

python -m tests.browser.picture
"""

import tempfile
from pathlib import Path

from PIL import Image

from grader import course
from grader import notebook as nb
from tests.browser import lab
from tests.course_copy import ROOT, lay_course_into, run_cli
from tests.student import answers

NAME = "01-softmax"
TARGET = ROOT / "docs" / "lesson.png"
WRONG = '''def softmax(scores, axis=-1):
    """Return the softmax of `scores` along `axis`."""
    exponentials = np.exp(scores - scores.max(axis=0))
    return exponentials / exponentials.sum(axis=0)'''
SIZE = {"width": 940, "height": 1400}
MARGIN = 8
COLOURS = 128  # enough for text, and a quarter of the bytes


def scene(folder: Path) -> Path:
    """A course in whose own copy softmax is wrong, ready to be run; the notebook's file."""
    copy = lay_course_into(folder / "course")
    run_cli(copy, "lab", "--no-open")
    entry = course.lesson(NAME, copy)
    own = answers(course.lesson(NAME)) | {"softmax": WRONG}
    notebook = nb.read(entry.own_copy)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = own.get(name, cell.source)
    entry.own_copy.write_text(nb.text_of(notebook), "utf-8")
    return copy


def take(copy: Path, target: Path) -> None:
    """Run the notebook in JupyterLab and save the picture of its answer and the message."""
    with lab.students_lab(copy) as address, lab.browser() as browser:
        page = browser.new_page(viewport=SIZE, device_scale_factor=2)
        lab.open_notebook(page, address, f"{NAME}/{NAME}.ipynb", mode="doc")
        lab.run_all(page)
        answer = page.locator(".jp-CodeCell", has_text="def softmax(").first
        failed = page.locator(".jp-CodeCell", has_text="✗ softmax").first
        page.locator(".jp-MarkdownCell").first.click()  # no cursor, no toolbar over the picture
        answer.scroll_into_view_if_needed()
        top, bottom = answer.bounding_box(), failed.bounding_box()
        assert top and bottom
        height = bottom["y"] + bottom["height"] - top["y"] + MARGIN
        clip = {"x": top["x"], "y": top["y"] - MARGIN, "width": top["width"], "height": height}
        page.screenshot(path=target, clip=clip)
    Image.open(target).convert("RGB").quantize(COLOURS).save(target, optimize=True)


def main() -> None:
    """Write docs/lesson.png."""
    TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        take(scene(Path(folder)), TARGET)
    print(f"wrote {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
