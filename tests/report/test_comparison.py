"""Tables and report of a comparison, from summaries alone."""

from dataclasses import replace

import pytest

from headway.core.control.events import NodeJoined, RoundStarted
from headway.core.ids import NodeId
from headway.core.metrics import Summary, TenantOutcome, summarise
from headway.core.types import Node
from headway.report import Entry, Usage, comparison, fairness, markdown_report

EMPTY = summarise([])
POLLUX = replace(
    EMPTY,
    jobs=160,
    finished=160,
    avg_jct_s=2446.4,
    makespan_s=58642.0,
    worst_rho=1.42,
    unfair_fraction_static=0.25,
    utilisation=0.8,
    restarts=691,
)
LAS = replace(POLLUX, avg_jct_s=3470.0, worst_rho=1.42, utilisation=0.9, restarts=43)
USAGE = Usage.of(
    [
        NodeJoined(at_s=0.0, node=Node(node_id=NodeId("n0"), gpus=4)),
        RoundStarted(at_s=7200.0),
    ]
)


@pytest.fixture
def summaries() -> dict[str, Summary]:
    return {"pollux": POLLUX, "las": LAS}


def test_one_row_for_each_policy_in_the_order_given(summaries: dict[str, Summary]) -> None:
    table = comparison(summaries)
    assert [row[0] for row in table.rows] == ["pollux", "las"]
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["avg JCT s"] == "2,446"
    assert cells["makespan s"] == "58,642"
    assert cells["worst rho"] == "1.42"
    assert cells["p99 s"] == "–"
    assert table.right == frozenset(table.columns[1:])


def test_four_readings_for_each_policy(summaries: dict[str, Summary]) -> None:
    table = fairness(summaries)
    assert [row[0] for row in table.rows] == ["pollux"] * 4 + ["las"] * 4
    assert table.rows[0][2] == "1.42"
    assert table.rows[3][1:] == ("jobs of the whole workload", "–", "–", "–", "0.25")
    assert len({row[1] for row in table.rows}) == 4


def test_the_best_of_each_column_is_bold_and_ties_are_both(summaries: dict[str, Summary]) -> None:
    entries = [
        Entry(policy=policy, summary=summary, usage=USAGE) for policy, summary in summaries.items()
    ]
    page = markdown_report({"cluster": "16x4"}, entries)
    pollux, las = (
        next(line for line in page.split("\n") if line.startswith(f"| {name} | **160**"))
        for name in summaries
    )
    assert "**2,446**" in pollux
    assert "| 3,470 |" in las
    assert "**1.42**" in pollux
    assert "**1.42**" in las
    assert "**0.90**" in las  # of utilisation, more is better
    assert "**43**" in las
    assert "**–**" not in page


def test_the_page_says_what_was_run_and_puts_charts_on_one_axis(
    summaries: dict[str, Summary],
) -> None:
    entries = [
        Entry(policy=policy, summary=summary, usage=USAGE) for policy, summary in summaries.items()
    ]
    page = markdown_report({"workload": "workload-6", "seed": "0"}, entries)
    assert page.startswith("# pollux, las\n\n- workload: workload-6\n- seed: 0\n")
    fence = page.split("```text\n")[1].split("\n```")[0].split("\n")
    assert len({len(line) for line in fence[:2]}) == 1
    assert fence[2].endswith("2.0 h")
    assert page.endswith("```\n")


def account(tenant: str, held: float, entitled: float) -> TenantOutcome:
    return TenantOutcome(
        tenant=tenant, jobs=3, active=0, finished=3, avg_jct_s=1_234.0, gpu_hours=held,
        entitled_gpu_hours=entitled, ahead_gpu_hours=held - entitled,
    )  # fmt: skip


def test_tenants_have_a_ledger_where_there_are_several() -> None:
    two = (account("speech", 10.0, 12.5), account("vision", 1_502.5, 1_500.0))
    entry = Entry(policy="pollux", summary=POLLUX, usage=USAGE, tenants=two)
    page = markdown_report({}, [entry])
    assert "| pollux | speech | 3 | 1,234 | 10.0 | 12.5 | -2.5 |" in page
    assert "| pollux | vision | 3 | 1,234 | 1,502.5 | 1,500.0 | +2.5 |" in page
    alone = replace(entry, tenants=two[:1])
    assert "## Tenants" not in markdown_report({}, [alone])


def test_one_policy_alone_is_best_at_nothing() -> None:
    page = markdown_report({}, [Entry(policy="pollux", summary=POLLUX, usage=USAGE)])
    assert "**" not in page
