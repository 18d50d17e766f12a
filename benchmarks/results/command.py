"""A command that gives a figure: as the page shows it, and what its answer depends on."""

from dataclasses import dataclass

DATA = "DATA"  # stands for the folder of published data, in a command as it is shown
MADE = "MADE"  # stands for a folder that lasts as long as the command
THEN = "&&"  # between two that follow each other
SIMULATOR = tuple(f"src/headway/{part}" for part in ("core", "protocol", "traces", "sim"))
CLUSTER = "16x4"  # 16 nodes of 4 GPUs, as published


@dataclass(frozen=True, slots=True, order=True)
class Command:
    """Equal commands are run once."""

    words: tuple[str, ...]
    sources: tuple[str, ...]  # folders and files of the repository
    timed: bool = False  # its answer is a time, so nothing else runs beside it

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """What follows each other; the last one gives the figure."""
        found: list[tuple[str, ...]] = []
        rest = self.words
        while THEN in rest:
            at = rest.index(THEN)
            found.append(rest[:at])
            rest = rest[at + 1 :]
        return (*found, rest)


def simulation(
    policy: str, workload: int, *settings: str, folder: str = "workloads", round_s: int = 60
) -> Command:
    """A published workload on the published cluster."""
    words = [
        *("headway", "simulate", f"{DATA}/{folder}/workload-{workload}.csv"),
        *("--profiles", f"{DATA}/profiles", "--cluster", CLUSTER, "--policy", policy),
    ]
    if round_s != 60:
        words += ["--round-s", str(round_s)]
    for setting in settings:
        words += ["--set", setting]
    return Command(tuple(words), SIMULATOR)


def script(
    name: str,
    *options: str,
    sources: tuple[str, ...] = SIMULATOR,
    timed: bool = False,
    module: bool = False,
) -> Command:
    """A benchmark of this repository that prints JSON; a module if it imports others of them."""
    path = f"benchmarks/{name}.py"
    started = ("-m", f"benchmarks.{name}") if module else (path,)
    return Command(("python", *started, *options, "--json"), (*sources, path), timed)
