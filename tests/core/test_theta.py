"""The values that theta_sys is made of."""

from headway.core.theta import Locality, ThroughputKind, ThroughputParams


def test_a_bool_of_several_nodes_is_a_locality() -> None:
    assert Locality(False) is Locality.ONE_NODE
    assert Locality(True) is Locality.ONE_RACK


def test_parameters_without_a_kind_are_linear() -> None:
    """Event logs from before there were kinds say nothing of them."""
    pollux = ThroughputParams(
        alpha_grad_s=0.1,
        beta_grad_s=0.1,
        alpha_local_s=0.1,
        beta_local_s=0.1,
        alpha_node_s=0.1,
        beta_node_s=0.1,
        gamma=1.0,
    )
    assert pollux.kind is ThroughputKind.LINEAR
    assert pollux.tree_s == pollux.hop_s == pollux.alpha_rack_s == pollux.beta_rack_s == 0
