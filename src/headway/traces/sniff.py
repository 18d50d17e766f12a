"""Which format a workload file or a folder of profiles has, told from its content."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.core.errors import InvalidInputError
from headway.traces import gavel, itp, neutral, philly, pollux, speedtable
from headway.traces.assign import assigned
from headway.traces.base import JobProfile, Workload
from headway.traces.recorded import Recording, Window
from headway.traces.rows import header, read_text
from headway.traces.variants import within

Profiles = Mapping[str, JobProfile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of workload file: how to know it by its header, and how to read it."""

    matches: Callable[[Iterable[str]], bool]
    read: Callable[[Path, Profiles], Workload]


FORMATS = {
    "gavel": Format(matches=gavel.matches, read=gavel.read_workload),
    "headway": Format(matches=neutral.matches, read=neutral.read_workload),
    "pollux": Format(matches=pollux.matches, read=pollux.read_workload),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFormat:
    """A kind of file that names no models; an import gives each job one."""

    matches: Callable[[Iterable[str]], bool]
    read: Callable[[Path], Recording]


TRACES = {
    "itp": TraceFormat(matches=itp.matches, read=itp.read_recording),
    "philly": TraceFormat(matches=philly.matches, read=philly.read_recording),
}
IMPORTED = sorted([*FORMATS, *TRACES])


def format_of(path: Path) -> str:
    """The name of the format of a workload file.

    Raises:
        InvalidInputError: the file cannot be read, or its header is that of no known format.
    """
    names = header(path, read_text(path))
    for name, form in FORMATS.items():
        if form.matches(names):
            return name
    for name, trace in TRACES.items():
        if trace.matches(names):
            raise InvalidInputError(
                f"{path} is a trace without models; write headway import {name} {path.name} "
                "-o workload.csv to give each job one"
            )
    columns = ", ".join(neutral.NEEDED)
    raise InvalidInputError(
        f"{path} line 1: no known workload format ({', '.join(FORMATS)}); "
        f"the header of Headway's own is {columns}"
    )


def read_workload(path: Path, profiles: Profiles, format_name: str | None = None) -> Workload:
    """A workload in any known format.

    Raises:
        InvalidInputError: an unknown format, or a file that cannot be used.
    """
    name = format_of(path) if format_name is None else format_name
    if name not in FORMATS:
        raise InvalidInputError(f"--format {name!r} is not known; choose {', '.join(FORMATS)}")
    return FORMATS[name].read(path, profiles)


def imported(
    path: Path, profiles: Profiles, format_name: str, window: Window, seed: int
) -> Workload:
    """The jobs of a window, of a file in any known format; models are given where it has none.

    Raises:
        InvalidInputError: a file that cannot be used, or no job is left.
    """
    trace = TRACES.get(format_name)
    if trace is not None:
        return assigned(window.cut(trace.read(path)), profiles, seed)
    return within(read_workload(path, profiles, format_name), window)


def read_profiles(path: Path) -> Profiles:
    """Measured profiles in any known format.

    Raises:
        InvalidInputError: nothing there, or nothing that can be used.
    """
    file, gpu_type = speedtable.split_type(path)
    if not file.exists():
        raise InvalidInputError(
            f"--profiles {path} does not exist; name a folder of profiles or a throughput table"
        )
    if file.is_dir():
        return pollux.read_profiles(file)
    return speedtable.read_profiles(file, gpu_type)
