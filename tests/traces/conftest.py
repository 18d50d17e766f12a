"""A small profile folder in the published format, with round numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest

PLACEMENTS = """placement,local_bsz,step_time,sync_time
1,8,1.0,0.0
1,16,2.0,0.0
1,32,5.0,0.0
2,8,1.5,0.5
2,16,2.5,0.5
2,32,5.5,0.5
11,8,3.0,2.0
11,16,4.0,2.0
11,32,7.0,2.0
12,8,4.0,3.0
12,16,5.0,3.0
12,32,8.0,3.0
22,8,5.0,4.0
22,16,6.0,4.0
22,32,9.0,4.0
"""
SCALABILITY = """num_nodes,num_replicas,local_bsz,step_time,sync_time
4,4,8,11.0,10.0
4,4,16,12.0,10.0
4,8,8,21.0,20.0
4,8,16,22.0,20.0
"""
RUNS = {
    16: "progress,iteration,metric,grad_sqr,grad_var\n10,10,0.5,1.0,4.0\n40,40,0.7,1.0,100.0\n",
    64: "progress,iteration,metric,grad_sqr,grad_var\n10,3,0.5,1.0,16.0\n40,11,0.7,0.0,100.0\n",
}
WORKLOAD = """name,time,application,num_replicas,batch_size
b,20.5,toy,2,32
a,10,toy,1,16
"""


@pytest.fixture
def profile_folder(tmp_path: Path) -> Path:
    """``profiles/toy`` with every file."""
    folder = tmp_path / "profiles" / "toy"
    folder.mkdir(parents=True)
    (folder / "placements.csv").write_text(PLACEMENTS)
    (folder / "scalability.csv").write_text(SCALABILITY)
    for size, text in RUNS.items():
        (folder / f"validation-{size}.csv").write_text(text)
    return folder.parent


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Writes a workload file and gives its path."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "jobs.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def good_table() -> str:
    """A workload in the published format."""
    return WORKLOAD
