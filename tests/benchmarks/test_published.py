"""The published files, read as ours are: the figures that are known of them."""

from pathlib import Path

import pytest

from benchmarks.results.published import REALISTIC_S, WORKLOADS, jobload

MEANS = {  # average JCT, p99 and makespan, each the mean of the five workloads
    ("pollux", "0.5"): (1_710, 17_692, 42_148),
    ("pollux", "1.0"): (2_839, 45_592, 64_638),
    ("pollux", "1.5"): (3_566, 56_133, 77_766),
    ("pollux", "2.0"): (4_916, 72_229, 95_766),
    ("optimus", "1.0"): (5_912, 54_360, 71_458),
    ("tiresias", "2.0"): (9_417, 91_226, 148_019),
}


@pytest.mark.parametrize(("policy", "load"), MEANS)
def test_means_of_the_published_runs(shared_data: Path, policy: str, load: str) -> None:
    runs = [jobload(shared_data / "pollux", policy, each, load) for each in WORKLOADS]
    columns = zip(*((run.avg_jct_s, run.p99_jct_s, run.makespan_s) for run in runs), strict=True)
    assert [round(sum(column) / len(column)) for column in columns] == pytest.approx(
        MEANS[policy, load], abs=1
    )


def test_realistic_jobs_are_compared_with_the_published_runs_of_pollux(shared_data: Path) -> None:
    runs = {each: jobload(shared_data / "pollux", "pollux", each) for each in WORKLOADS}
    published = {each: run.avg_jct_s for each, run in runs.items()}
    assert REALISTIC_S["pollux"] == pytest.approx(published, abs=0.1)
