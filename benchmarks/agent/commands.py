"""The commands whose answers the page states."""

from benchmarks.results.command import DATA, Command, script

AGENT = ("src/headway/agent", "src/headway/core/model")
SEEDS = (0, 1, 2)
RATINGS = "ml-100k"
OWN = {"mnist5k-cnn": "mnist5k", RATINGS: "ml100k"}  # scripts that are no demos
TESTS = "tests/agent/test_untouched.py"
ELASTIC_TESTS = tuple(
    f"tests/agent/test_elastic.py::test_{name}"
    for name in (
        "one_three_two_workers_end_where_one_does",
        "a_kill_loses_little_and_repeats_nothing",
    )
)


def training(task: str, way: str, seed: int = 0, most: int = 0) -> Command:
    """One real training; ``most``: the largest batch in M0, where it is not the task's own."""
    words = ["--task", task, "--way", way, "--seed", str(seed)]
    words += ["--most", str(most)] if most else []
    words += ["--ratings", DATA] if task == RATINGS else []
    own = (f"benchmarks/{OWN[task]}.py",) if task in OWN else ()
    return script("quality", *words, sources=(*AGENT, *own))


def overhead(task: str) -> Command:
    """What the agent adds to a step."""
    return script("agent_overhead", "--task", task, sources=AGENT, timed=True)


def counted(task: str, seed: int) -> Command:
    """The noise scale of a training, from the gradient of every sample."""
    return script(
        *("noise", "--task", task, "--seed", str(seed)),
        sources=(*AGENT, "benchmarks/agent_overhead.py", "benchmarks/quality.py"),
        module=True,
    )


LAW = script("efficiency", "--points", f"{DATA}/rcp", sources=("src/headway/core/model",))
ACCOUNTING = script("accounting", "--sequences", "1000", sources=AGENT)
UNTOUCHED = script("checked", TESTS, sources=(*AGENT, TESTS))
ELASTIC = script("checked", *ELASTIC_TESTS, sources=(*AGENT, "tests/agent/test_elastic.py"))
KILLS = script("kills", "--kills", "200", sources=AGENT)
RESIZE = script("resize", sources=AGENT, timed=True)
