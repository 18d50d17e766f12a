"""What a job's command asks for: a script that is forked once a slot, or a program of its own."""

import ast
import importlib.util
import os
import re
import runpy
import shutil
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

PYTHON = re.compile(r"python(3(\.\d+)?)?$")
# imports that start no thread and touch no GPU, so that forks can share them
FORK_SAFE = frozenset({"headway", "numpy", "scipy", "sklearn", "torch", "torchvision"})
# what a script says that knows of other workers; any other is one process, whatever it holds
KNOWS_WORKERS = (b"headway", b"HEADWAY_", b"torch.distributed", b"RANK", b"WORLD_SIZE")
LAUNCHERS = frozenset({"torch.distributed.run", "torch.distributed.launch"})


class Start(StrEnum):
    """How the processes of a program come to be."""

    FORK = "fork"  # one a slot, in the agent's own interpreter
    EXEC = "exec"  # one a slot, in an interpreter of the owner's choice
    ALONE = "alone"  # one in all; it cannot be asked to yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A job's command, understood; paths are relative to its working directory."""

    command: tuple[str, ...]
    start: Start
    script: str | None = None
    module: str | None = None
    arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, command: tuple[str, ...]) -> Self:
        """Plain ``python`` is the agent's interpreter; any other launcher is run as it is."""
        alone = cls(command=command, start=Start.ALONE)
        if not command:
            return alone
        first, rest = command[0], command[1:]
        if rest[:1] == ("-u",):  # workers do not hold back lines anyway
            rest = rest[1:]
        if first.endswith(".py"):
            return replace(alone, start=Start.FORK, script=first, arguments=command[1:])
        if not PYTHON.match(os.path.basename(first)) or not rest:
            return alone
        start = Start.FORK if _is_ours(first) else Start.EXEC
        if rest[0] == "-m" and len(rest) > 1 and rest[1] not in LAUNCHERS:
            return replace(alone, start=start, module=rest[1], arguments=rest[2:])
        if rest[0].startswith("-"):
            return alone
        return replace(alone, start=start, script=rest[0], arguments=rest[1:])

    def problem(self, workdir: str) -> str | None:
        """Why this cannot be started, in one line that names the culprit; None: it can."""
        if not self.command:
            return "launch.command is empty"
        if not os.path.isdir(workdir):
            return f"launch.workdir {workdir} is not a directory"
        if self.script is not None and not os.path.isfile(os.path.join(workdir, self.script)):
            return f"launch.command: there is no script {self.script} in {workdir}"
        if self.start is not Start.FORK and not _executable(self.command[0], workdir):
            return f"launch.command: there is no program {self.command[0]}"
        return None

    def attaches(self, workdir: str) -> bool:
        """Whether it seems to report its steps: its text names Headway."""
        return self._says(workdir, KNOWS_WORKERS[:1])

    def seated(self, workdir: str) -> Self:
        """As one process where the script knows nothing of workers.

        Copies of it, one a slot, would train the same thing and overwrite each other's files.
        """
        if self.start is Start.ALONE or self._says(workdir, KNOWS_WORKERS):
            return self
        bare = self.command[0].endswith(".py")
        command = (sys.executable, *self.command) if bare else self.command
        return replace(self, start=Start.ALONE, command=command)

    def _says(self, workdir: str, words: tuple[bytes, ...]) -> bool:
        try:
            text = b"" if self.start is Start.ALONE else self._text(workdir)
        except (OSError, ModuleNotFoundError):
            return False
        return any(word in text for word in words)

    def preloads(self, workdir: str) -> tuple[str, ...]:
        """What the script imports first of all and a parent may import for its forks."""
        try:
            tree = ast.parse(self._text(workdir))
        except (OSError, ModuleNotFoundError, SyntaxError, ValueError):
            return ()
        names: list[str] = []
        for node in tree.body:
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.append(node.module)
        return tuple(name for name in names if name.split(".")[0] in FORK_SAFE)

    def _text(self, workdir: str) -> bytes:
        if self.script is not None:
            return Path(workdir, self.script).read_bytes()
        module = self.module or ""
        if module.startswith("headway."):
            spec = importlib.util.find_spec(module)
            return Path(spec.origin).read_bytes() if spec and spec.origin else b""
        where = Path(workdir, *module.split("."))
        files = (where.with_suffix(".py"), where / "__main__.py")
        return b"".join(file.read_bytes() for file in files if file.is_file())


def run(program: Program) -> None:
    """Become the script: what it raises ends this process as it would end a fresh one."""
    sys.excepthook = _tell_from_the_script_on
    if program.script is not None:
        path = os.path.abspath(program.script)
        sys.argv = [path, *program.arguments]
        sys.path.insert(0, os.path.dirname(path))
        runpy.run_path(path, run_name="__main__")
        return
    sys.argv = [program.module or "", *program.arguments]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(program.module or "", run_name="__main__", alter_sys=True)


def _tell_from_the_script_on(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """A traceback without the frames by which the agent came to the script."""
    ours = (os.path.dirname(__file__), runpy.__file__, "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(ours):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def torch_is_there() -> bool:
    """Whether torch can be imported; finding out does not import it."""
    return importlib.util.find_spec("torch") is not None


def _is_ours(interpreter: str) -> bool:
    """A bare name means the interpreter that Headway runs in."""
    return os.sep not in interpreter or os.path.abspath(interpreter) == sys.executable


def _executable(program: str, workdir: str) -> bool:
    if os.sep in program:
        return os.access(os.path.join(workdir, program), os.X_OK)
    return shutil.which(program) is not None
