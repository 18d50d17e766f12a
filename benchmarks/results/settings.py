"""The settings in which policies are set side by side: jobs, cluster, and how to make the jobs."""

from dataclasses import dataclass, replace

from benchmarks.results.command import DATA, MADE, THEN, Command

OURS, POLLUX, SHOCKWAVE = "headway", "pollux", "shockwave"
OTHERS = ("optimus", "tiresias", "themis", "gavel", "allox")
POLICIES = (OURS, POLLUX, SHOCKWAVE, *OTHERS)
# what a simulation runs through; an importer counts only where a setting imports with it
READERS = tuple(
    f"src/headway/traces/{name}.py"
    for name in (
        "adapting",
        "base",
        "measured",
        "modelled",
        "neutral",
        "pollux",
        "rows",
        "schedules",
        "trajectory",
    )
)
SIMULATED = (*(f"src/headway/{part}" for part in ("core", "protocol", "sim")), *READERS)
BOUNDED_BY = (
    *("src/headway/core/model", "src/headway/core/batch.py", "src/headway/core/types.py"),
    *("src/headway/sim", *READERS, *(f"benchmarks/{name}.py" for name in ("bound", "priced"))),
)
SEEDS = (0,)
BUILT_IN = ("src/headway/traces/catalogue.py", "src/headway/traces/assign.py")
PROFILES = ("--profiles", f"{DATA}/pollux/profiles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Jobs on a cluster, under every policy alike."""

    key: str
    title: str
    about: str
    workload: str  # a path, or what a generator is called by
    cluster: str
    profiles: tuple[str, ...] = ()  # none: the built-in ones
    made_by: tuple[str, ...] = ()  # the command that writes the workload, where it is made
    sources: tuple[str, ...] = ()  # beside those of every simulation
    contended: bool = False  # where less is enough for a policy to be far ahead

    def run(self, policy: str, *settings: str, seed: int = 0) -> Command:
        """A policy in this setting."""
        words = [*self._before, "headway", "simulate", self.workload, *self.profiles]
        words += ["--cluster", self.cluster, "--policy", policy]
        if seed:
            words += ["--seed", str(seed)]
        for setting in settings:
            words += ["--set", setting]
        return Command(tuple(words), (*SIMULATED, *self.sources))

    def bound(self, seed: int = 0) -> Command:
        """What no policy can be below in this setting."""
        words = [*self._before, "python", "-m", "benchmarks.bound", self.workload, *self.profiles]
        words += ["--cluster", self.cluster]
        if seed:
            words += ["--seed", str(seed)]
        return Command((*words, "--json"), (*BOUNDED_BY, *self.sources))

    @property
    def _before(self) -> tuple[str, ...]:
        return (*self.made_by, THEN) if self.made_by else ()


def published(number: int, cluster: str = "16x4", load: str = "") -> Setting:
    """A workload of Pollux's on a cluster."""
    return Setting(
        key=f"pollux-{number}" + (f"-load-{load}" if load else "") + f"-{cluster}",
        title=f"Pollux's workload {number}"
        + (f", load {load}" if load else "")
        + f", on {cluster}",
        about="As published, each job with the GPUs and the batch size that its authors tuned.",
        workload=f"{DATA}/pollux/workloads{'-' + load if load else ''}/workload-{number}.csv",
        cluster=cluster,
        profiles=PROFILES,
        contended=cluster != "16x4" or bool(load),
    )


STEADY = Setting(
    key="steady-48h",
    title="A steady state of 48 hours",
    about="240 jobs of Pollux's mix, drawn by seed, arrive over 48 hours on 16 GPUs.",
    workload="pollux-mix:hours=48,load=0.25",
    cluster="4x4",
    sources=BUILT_IN,
    contended=True,
)
DRAWN = (
    *(
        Setting(
            key=f"drawn-{cluster}",
            title=f"160 drawn jobs on {cluster}",
            about="160 jobs of Pollux's mix, drawn by seed, arrive over 8 hours.",
            workload="pollux-mix",
            cluster=cluster,
            sources=BUILT_IN,
            contended=cluster == "4x4",
        )
        for cluster in ("16x4", "4x4")
    ),
    STEADY,
)
IMPORT_SOURCES = tuple(
    f"src/headway/{name}.py"
    for name in ("cli/importing", "traces/assign", "traces/recorded", "traces/variants")
)


def _imported(
    key: str, title: str, about: str, cluster: str, *words: str, sources: tuple[str, ...] = ()
) -> Setting:
    """Jobs that an import makes of a published trace."""
    path = f"{MADE}/{key}.csv"
    return Setting(
        key=key,
        title=title,
        about=about,
        workload=path,
        cluster=cluster,
        made_by=("headway", "import", *words, "-o", path),
        sources=(*BUILT_IN, *IMPORT_SOURCES, *sources),
    )


def _elastic(jobs: int, cluster: str) -> Setting:
    return _imported(
        f"shockwave-{jobs}",
        f"Shockwave's {jobs} jobs, made elastic, on {cluster}",
        "Each job has one of the built-in models by its GPU time, drawn by seed, and takes as long "
        "as in the trace on the GPUs that it asks for.",
        cluster,
        *("gavel", f"{DATA}/shockwave/traces/{jobs}jobs.trace.gz"),
        *("--profiles", f"{DATA}/shockwave/tacc_throughputs.json.gz", "--elastic"),
        sources=GAVEL,
    )


GAVEL = tuple(
    f"src/headway/traces/{name}.py" for name in ("gavel", "shockwave", "speedtable", "throughputs")
)
MIXED = replace(
    _imported(
        "half-rigid",
        "Half of the jobs rigid, on 16x4",
        "Workload 6 of Pollux's; half of its jobs, drawn by seed, keep their GPUs and batch size.",
        "16x4",
        *("pollux", f"{DATA}/pollux/workloads/workload-6.csv", *PROFILES, "--rigid", "0.5"),
    ),
    profiles=PROFILES,
)
PHILLY = _imported(
    "philly-day",
    "A day of Philly, on 16x4",
    "The 8th of November 2017 of one virtual cluster; models by GPU time, drawn by seed.",
    "16x4",
    *("philly", f"{DATA}/philly/philly_jobs.csv.gz", "--tenant", "6c71a0"),
    *("--from-h", "1560", "--hours", "24"),
    sources=("src/headway/traces/philly.py",),
)
ITP = _imported(
    "itp-day",
    "A day of Microsoft ITP, on 16x4",
    "The third day of the ninth cluster; models by GPU time, drawn by seed.",
    "16x4",
    *("itp", f"{DATA}/microsoft-itp/raw/cluster09.csv.gz", "--from-h", "48", "--hours", "24"),
    sources=("src/headway/traces/itp.py",),
)
SETTINGS = (
    *(published(number) for number in (6, 1, 2, 4, 7)),
    _elastic(120, "8x4"),
    _elastic(220, "16x4"),
    *(published(number, "4x4") for number in (6, 1)),
    published(6, load="2.0"),
    STEADY,
    MIXED,
    PHILLY,
    ITP,
)
MISDECLARED = (SETTINGS[0], SETTINGS[5])  # one of Pollux's, one of Shockwave's
