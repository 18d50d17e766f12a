"""The ledger: which tenant is ahead, which behind, and by how many GPU-hours."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, Field

from headway.core.metrics import tenants_of
from headway.core.policy.shares import UNNAMED
from headway.service.api.desk import Here

router = APIRouter(prefix="/tenants", tags=["tenants"])


class TenantView(BaseModel):
    """One tenant's account, since the event log began."""

    tenant: str = Field(examples=["vision"])
    weight: float | None = Field(description="null where no table of tenants is given")
    jobs: int = Field(description="ever submitted")
    active: int = Field(description="of these, those that have not ended")
    finished: int
    avg_jct_s: float | None = Field(description="over its finished jobs")
    gpu_hours: float = Field(description="held")
    entitled_gpu_hours: float = Field(
        description="its weighted share of the GPUs while its jobs were active, "
        "as far as they can use them"
    )
    ahead_gpu_hours: float = Field(description="held beyond that; negative: behind")


class TenantList(BaseModel):
    """All tenants that ever submitted anything, by name."""

    tenants: list[TenantView]


@router.get("", summary="Who is ahead and behind")
def tenants(here: Here) -> TenantList:
    """GPU-hours that each tenant has held against those it was entitled to."""
    runner = here.runner
    opened = runner.board.opened
    table = {} if opened is None else tenants_of(opened)
    accounts = runner.board.tenants(runner.now_s())
    return TenantList(
        tenants=[
            TenantView(weight=table.get(one.tenant, UNNAMED) if table else None, **asdict(one))
            for one in accounts
        ]
    )
