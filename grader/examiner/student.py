"""The student's process: runs the set-up, the student's cells, and calls what it is asked to.

It has never imported checks, oracle or misconceptions, and knows no right answer."""

import builtins
import contextlib
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NoReturn

import matplotlib
import numpy as np

from grader import wire
from grader.channel import Channel, ChannelError
from grader.examiner import inert, jail, plots
from grader.examiner.frames import CALL_BACK, LONGEST_FRAME, NUMBER, REPLY
from grader.observe import PRINT_LIMIT, BoundedText, Raised, Stage, clean, describe, read_order

CHECKS = "grader.checks"
NO_INPUT = "input() has nobody to ask when a notebook is graded"
NO_SHELL = "shell commands are not run when a notebook is graded"


class StudentRole:
    """A warm student: IPython, NumPy, Matplotlib and the lesson's set-up, before the jail."""

    def set_up(self, order: dict[str, Any]) -> None:
        """Make the shell and run the instructor's set-up cells in it."""
        inert.install(CHECKS)
        self.shell = Shell()
        for source in order["sources"]:
            error = self.shell.run(source)[0]
            if error:
                raise RuntimeError(f"the set-up of the lesson fails: {error}")
        _draw_once()
        self.scratch = Path(order["scratch"])
        self.jail: jail.Jail | None = None
        if order["report"]:
            limits, report = jail.Limits(**order["limits"]), jail.Report(**order["report"])
            self.jail = jail.prepare(self.scratch, limits, report)
        sys.path[:] = [path for path in sys.path if path != order["root"]]

    @property
    def kept(self) -> tuple[int, ...]:
        """The descriptors with which a child goes into the jail."""
        return self.jail.kept if self.jail else ()

    def work_ahead(self) -> bool:
        """There is nothing to do while no order comes."""
        return False

    def child(self, order: dict[str, Any], descriptor: int) -> None:
        """Go into the jail, then serve."""
        channel = Channel(descriptor, descriptor)
        if self.jail:
            self.jail.enter()
        else:
            os.chdir(self.scratch)
        serve(
            channel, self.shell, Stage(self.shell.names, interruptible=False, first=order["first"])
        )


def _draw_once() -> None:
    """Let Matplotlib open every file it will want: fonts come late, and the jail comes first."""
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = pyplot.figure()
        figure.text(0.5, 0.5, r"$\sqrt{d_k}$ ½")
        plots.keep_open_figures()
    plots.take()


class Shell:
    """IPython without history, files, colours, a person to ask or a shell below it."""

    def __init__(self) -> None:
        matplotlib.use(f"module://{plots.__name__}")
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        make: Any = InteractiveShell.instance
        with tempfile.TemporaryDirectory() as folder:  # wanted at the start, never again
            self._shell = make(config=config, ipython_dir=folder)
        self._shell.showtraceback = self._shell.showsyntaxerror = lambda *_, **__: None
        self._shell.system = self._shell.getoutput = lambda *_, **__: print(NO_SHELL)
        self._shell.register_magic_function(lambda line: None, magic_name="matplotlib")
        builtins.input = _no_input
        self.names: dict[str, Any] = self._shell.user_ns

    def run(self, source: str) -> tuple[Raised | None, str, list[bytes]]:
        """Run a cell: what it raised, what it printed, and the pictures it drew."""
        printed = BoundedText()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            result = self._shell.run_cell(source, store_history=False)
            with contextlib.suppress(Exception):  # a plot never costs a grade
                plots.keep_open_figures()
        raised = result.error_before_exec or result.error_in_exec
        return describe(raised) if raised else None, printed.getvalue(), plots.take()


def _no_input(*_: Any) -> NoReturn:
    raise EOFError(NO_INPUT)


def serve(channel: Channel, shell: Shell, stage: Stage) -> None:
    """Answer the examiner's requests until it is gone."""

    def call_back(number: int, arguments: bytes) -> bytes:
        channel.send(CALL_BACK + NUMBER.pack(number) + arguments, None)
        return channel.receive(LONGEST_FRAME, None)

    with contextlib.suppress(ChannelError):
        while True:
            request = channel.receive(LONGEST_FRAME, None)
            match order := read_order(request):
                case ["run", source]:
                    error, printed, pictures = shell.run(source)
                    told = (
                        list(map(clean, (error.kind, error.message, error.where)))
                        if error
                        else None
                    )
                    drawn = [np.frombuffer(picture, np.uint8) for picture in pictures]
                    channel.send(wire.encode([told, clean(printed, PRINT_LIMIT), drawn]), None)
                case ["fetch", names]:
                    channel.send(stage.fetch(names), None)
                case ["call", *_]:
                    reply, _ = stage.carry_out(order, request, call_back)
                    channel.send(REPLY + reply, None)
