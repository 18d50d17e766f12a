"""One file, one policy; the registry of all of them."""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from headway.core.errors import InvalidInputError
from headway.core.policy.allox import AlloX
from headway.core.policy.autoscale import Autoscaled
from headway.core.policy.base import Policy, Traits
from headway.core.policy.costs import CostScaler
from headway.core.policy.drf import Drf
from headway.core.policy.fifo import Fifo
from headway.core.policy.gandiva_fair import GandivaFair
from headway.core.policy.gavel import Gavel
from headway.core.policy.headway import Headway
from headway.core.policy.las import Las
from headway.core.policy.mst import Mst
from headway.core.policy.optimus import Optimus
from headway.core.policy.ossp import Ossp
from headway.core.policy.pollux import Pollux
from headway.core.policy.scalers import GoodputScaler, ThroughputScaler
from headway.core.policy.shockwave import Shockwave
from headway.core.policy.sia import Sia
from headway.core.policy.srtf import Srtf
from headway.core.policy.themis import Themis
from headway.core.policy.tiresias import Tiresias

POLICIES: dict[str, Any] = {
    "allox": AlloX,
    "drf": Drf,
    "fifo": Fifo,
    "gandiva-fair": GandivaFair,
    "gavel": Gavel,
    "headway": Headway,
    "las": Las,
    "mst": Mst,
    "optimus": Optimus,
    "ossp": Ossp,
    "pollux": Pollux,
    "shockwave": Shockwave,
    "sia": Sia,
    "srtf": Srtf,
    "themis": Themis,
    "tiresias": Tiresias,
}
SCALERS: dict[str, Any] = {
    "cost": CostScaler,
    "goodput": GoodputScaler,
    "throughput": ThroughputScaler,
}
SCALED = "+"  # between the name of a policy and that of the rule that sizes its cluster
DEFAULT = "headway"

__all__ = ["DEFAULT", "POLICIES", "SCALERS", "Policy", "Traits", "has_setting", "make"]


def make(name: str, settings: Mapping[str, str] | None = None) -> Policy[Any]:
    """A policy by name; settings are its own fields as text, as in ``--set pollux.p=-1``.

    ``pollux+cost`` is a policy in a cluster that a rule scales; it has the settings of both.

    Raises:
        InvalidInputError: no such policy, no such field, or a value of another type.
    """
    inner, scaled, rule = name.partition(SCALED)
    if inner not in POLICIES:
        raise InvalidInputError(f"unknown policy {name!r}; choose one of {_known(name, POLICIES)}")
    if scaled and rule not in SCALERS:
        raise InvalidInputError(
            f"policy {name}: unknown scaler {rule!r}; choose one of {_known(rule, SCALERS)}"
        )
    parts = [POLICIES[inner](), *([SCALERS[rule]()] if scaled else [])]
    kinds = {key: kind for part in parts for key, kind in _kinds(part).items()}
    chosen: dict[str, object] = {}
    for key, text in (settings or {}).items():
        if key not in kinds:
            raise InvalidInputError(
                f"policy {name} has no setting {key!r}; it has {_known(key, kinds)}"
            )
        chosen[key] = _parsed(f"{name}.{key}", text, kinds[key])
    policy, *scaler = (_changed(part, chosen) for part in parts)
    made: Policy[Any] = Autoscaled(policy, *scaler) if scaler else policy
    return made


def _kinds(part: Any) -> dict[str, type]:
    return {field.name: type(getattr(part, field.name)) for field in fields(part)}


def _changed(part: Any, chosen: Mapping[str, object]) -> Any:
    """With those of the chosen settings that are its own."""
    return replace(part, **{key: chosen[key] for key in _kinds(part) if key in chosen})


def has_setting(name: str, key: str) -> bool:
    """Whether a policy can be told this."""
    inner = name.partition(SCALED)[0]
    return inner in POLICIES and any(field.name == key for field in fields(POLICIES[inner]))


def _parsed(key: str, text: str, kind: type) -> object:
    if kind is bool:
        if text.lower() in {"true", "false"}:
            return text.lower() == "true"
        raise InvalidInputError(f"{key} must be true or false, not {text!r}")
    try:
        value: object = kind(text)
    except ValueError:
        raise InvalidInputError(f"{key} must be of type {kind.__name__}, not {text!r}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{key} must be a finite number, not {text!r}")
    return value


def _known(wrong: str, known: Mapping[str, object]) -> str:
    """The close ones if there are any, else all."""
    return ", ".join(get_close_matches(wrong, known) or sorted(known)) or "none"
