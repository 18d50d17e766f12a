"""Unmodified scripts under their own launcher: rigid, or started anew at another size."""

import sys
from typing import Any

import pytest

from headway.protocol.messages import AgentPhase

pytest.importorskip("torch", reason="needs the extra headway[agent]")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
Stage = Any  # of this folder's conftest, which cannot be imported
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")

# counts, saves, and goes on from what it has saved; it knows nothing of who started it
SCRIPT = """
import os, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
step = int(open("saved").read()) if os.path.exists("saved") else 0
print(f"begins at {step} with {dist.get_world_size()}", flush=True)
while not os.path.exists("end"):
    summed = torch.ones(())
    dist.all_reduce(summed)
    assert summed == dist.get_world_size()
    step += 1
    if dist.get_rank() == 0:
        open("part", "w").write(str(step))
        os.replace("part", "saved")
    dist.barrier()
    time.sleep(0.02)
"""


@pytest.mark.slow
def test_torchrun_takes_all_slots_and_goes_on_from_its_own_checkpoint(stage: Stage) -> None:
    stage.play.tell(1, 0, 1)
    stage.start(SCRIPT, command=(*TORCHRUN, "script.py"), OMP_NUM_THREADS="1")
    stage.until(lambda: (stage.scripts / "saved").exists(), "its first step")
    stage.until_phase(AgentPhase.RUNNING, 1)
    assert stage.log().count("begins at 0 with 2") == 2
    stage.play.tell(2, 1)
    stage.until(lambda: " with 1" in stage.log(), "one worker")
    (begun,) = [line for line in stage.log().splitlines() if line.endswith(" with 1")]
    assert int(begun.split()[2]) > 0
    (stage.scripts / "end").touch()
    stage.until_phase(AgentPhase.FINISHED, 2)
    assert stage.until_gone() == 0


def test_a_program_of_its_own_has_time_to_save_at_sigterm(stage: Stage) -> None:
    """It was killed after the seconds that are meant for programs which do not listen."""
    stage.play.tell(1, 0)
    save = "sleep 1.5; echo saved > saved; exit 0"  # longer than --term-s
    wait = f"trap '{save}' TERM; echo ready > ready; while :; do sleep 0.05; done"
    stage.start("", command=("sh", "-c", wait))
    stage.until(lambda: (stage.scripts / "ready").exists(), "its trap")
    stage.until_phase(AgentPhase.RUNNING, 1)  # or an idle one of before is taken for the end
    stage.play.tell(2)
    stage.until(lambda: stage.play.heard[-1].phase is AgentPhase.IDLE, "idle")
    assert (stage.scripts / "saved").read_text() == "saved\n"
