"""The charts of a comparison: distributions over all seeds, and the course of one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.core.ids import JobId
from headway.core.metrics import JobOutcome
from headway.report.course import Course, JobCourse, Steps
from headway.report.spread import READING
from headway.report.svg import Axis, Chart, Line, Point, stairs

HOUR_S = 3600.0
POINTS = 400  # of a distribution; more cannot be told apart
BUCKETS = 240  # of time
LOW = 190  # height of a chart that has others beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Charts that belong together, under one heading and one explanation."""

    title: str
    about: str
    charts: tuple[Chart, ...]
    columns: int = 1
    legend: bool = True


def jct_chart(outcomes: Mapping[str, Sequence[JobOutcome]]) -> Group:
    """How JCT is spread over jobs."""
    about = (
        "Share of all jobs, of all seeds, that took at most so long from submission to completion; "
        "farther left is better. A line that ends below 100 % belongs to a policy that left jobs "
        "unfinished."
    )
    values = {policy: [job.jct_s for job in jobs] for policy, jobs in outcomes.items()}
    chart = _distribution("Distribution of job completion time", about, "JCT (s)", values)
    return Group(title="Job completion time", about=about, charts=(chart,))


def rho_chart(outcomes: Mapping[str, Sequence[JobOutcome]]) -> Group:
    """How finish-time fairness is spread over jobs."""
    about = (
        f"Rho is a job's JCT over its JCT in the {READING}. Jobs right of the line at 1 were "
        "treated unfairly."
    )
    values = {policy: [job.rho for job in jobs] for policy, jobs in outcomes.items()}
    chart = _distribution("Distribution of rho", about, f"rho ({READING})", values, mark=1.0)
    return Group(title="Finish-time fairness", about=about, charts=(chart,))


def cluster_charts(courses: Mapping[str, Course]) -> Group:
    """GPUs held over time, a chart for each policy."""
    about = (
        f"GPUs held, each point the mean of one {BUCKETS}th of the time shown; the thin line "
        "is the GPUs there are."
    )
    until_s = _until_s(courses)
    charts = [
        _cluster(policy, course, series, until_s)
        for series, (policy, course) in enumerate(courses.items())
    ]
    title = "The cluster over time"
    return Group(title=title, about=about, charts=tuple(charts), legend=False)


def job_charts(courses: Mapping[str, Course], count: int = 4) -> Group:
    """GPUs and batch size over time of the largest jobs."""
    first = next(iter(courses))
    largest = courses[first].largest(count)
    about = (
        f"The {len(largest)} jobs that held the most GPU time under {first}. Before a job's first "
        "report, and where a policy reads none, the batch size is the one it was submitted with."
    )
    charts = [chart for job in largest for chart in _job(job, courses)]
    title = "The largest jobs over time"
    return Group(title=title, about=about, charts=tuple(charts), columns=2)


def _distribution(
    title: str,
    about: str,
    label: str,
    values: Mapping[str, Sequence[float | None]],
    mark: float | None = None,
) -> Chart:
    known = {
        policy: sorted(value for value in some if value is not None and value > 0)
        for policy, some in values.items()
    }
    everything = [value for some in known.values() for value in some]
    if mark is not None:
        everything.append(mark)
    x = _logarithmic(label, everything)
    lines = [
        Line(points=_cumulative(some, len(values[policy]), x.most), series=series)
        for series, (policy, some) in enumerate(known.items())
    ]
    if mark is not None:
        lines.insert(0, Line(points=[(mark, 0.0), (mark, 100.0)]))
    y = Axis(label="share of jobs", least=0.0, most=100.0, unit=" %")
    return Chart(title=title, about=about, x=x, y=y, lines=lines)


def _cumulative(ascending: Sequence[float], jobs: int, until: float) -> list[Point]:
    """Per cent of the jobs that are at most at x; a long one is thinned, its ends are kept."""
    count = len(ascending)
    if not count:
        return []
    ranks = range(1, count + 1)
    if count > POINTS:
        ranks_kept = {round(1 + (count - 1) * part / (POINTS - 1)) for part in range(POINTS)}
        steps = [(ascending[rank - 1], 100.0 * rank / jobs) for rank in sorted(ranks_kept)]
    else:
        steps = [(ascending[rank - 1], 100.0 * rank / jobs) for rank in ranks]
    return [(steps[0][0], 0.0), *stairs(steps, until)]


def _cluster(policy: str, course: Course, series: int, until_s: float) -> Chart:
    held, there = course.usage.means(until_s, BUCKETS).tolist()
    part_h = until_s / BUCKETS / HOUR_S
    middles_h = [(index + 0.5) * part_h for index in range(BUCKETS)]
    ended = course.usage.length_s / HOUR_S
    shown = sum(middle_h + part_h / 2 <= ended * (1 + 1e-9) for middle_h in middles_h)  # whole ones
    points = [list(zip(middles_h, levels, strict=True))[:shown] for levels in (there, held)]
    lines = [
        Line(points=points[0]),
        Line(points=points[1], series=series, filled=True),
    ]
    return Chart(
        title=f"GPUs held under {policy}",
        about=f"GPUs that jobs held, over {ended:.1f} hours.",
        x=_hours(until_s),
        y=Axis(label="GPUs", least=0.0, most=max(*there, 1.0)),
        lines=lines,
        height=LOW,
    )


def _job(largest: JobCourse, courses: Mapping[str, Course]) -> tuple[Chart, Chart]:
    name = largest.name
    gpus = [_steps(course, largest.job_id, "gpus") for course in courses.values()]
    batches = [_steps(course, largest.job_id, "batches") for course in courses.values()]
    batch_axis = _logarithmic("examples", [y for line in batches for _, y in line])
    life_h = [x for line in gpus for x, _ in line] or [0.0]
    time = Axis(label="time (h)", least=min(life_h), most=max(*life_h, min(life_h) + 1e-3))
    most = max((y for line in gpus for _, y in line), default=0.0)
    return (
        Chart(
            title=f"GPUs of {name}",
            about=f"GPUs that {name} held under each policy.",
            x=time,
            y=Axis(label="GPUs", least=0.0, most=max(most, 1.0)),
            lines=[Line(points=points, series=series) for series, points in enumerate(gpus)],
            height=LOW,
        ),
        Chart(
            title=f"Batch size of {name}",
            about=f"Batch size of {name} in examples under each policy.",
            x=time,
            y=batch_axis,
            lines=[Line(points=points, series=series) for series, points in enumerate(batches)],
            height=LOW,
        ),
    )


def _steps(course: Course, job_id: JobId, what: str) -> list[Point]:
    """Hours and levels from the job's first start to its end; nothing if it never ran."""
    job = course.by_job.get(job_id)
    if job is None:
        return []
    steps: Steps = job.gpus if what == "gpus" else job.batches()
    until_s = course.usage.length_s if job.ended_s is None else job.ended_s
    return stairs([(at_s / HOUR_S, level) for at_s, level in steps], until_s / HOUR_S)


def _until_s(courses: Mapping[str, Course]) -> float:
    return max([course.usage.length_s for course in courses.values()] + [1.0])


def _hours(until_s: float) -> Axis:
    return Axis(label="time (h)", least=0.0, most=until_s / HOUR_S)


def _logarithmic(label: str, values: Sequence[float]) -> Axis:
    """Around all values, with some room where they are all the same."""
    least, most = min(values, default=1.0), max(values, default=10.0)
    if most < 4 * least:
        least, most = least / 2, most * 2
    return Axis(label=label, least=least * 0.95, most=most * 1.05, log=True)
