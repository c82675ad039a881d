"""The control of a flow."""

from collections.abc import Mapping
from math import nan
from typing import Any

from ackclock.elements import facts
from ackclock.models.path import Control, EarlyEnd, PathModel


def control_of(flow: Mapping[str, Any]) -> Control:
    """Returns the congestion or rate control of a flow; one without a name for plain UDP."""
    return control(*facts.control(flow))


def control(name: str, stated: facts.Facts) -> Control:
    """Returns a control by its name and the facts that it states."""
    nothing = facts.Facts()
    kept, after_mark = (stated[name] or nothing for name in ("kept_after_loss", "kept_after_mark"))
    growth, equation = stated["growth"] or nothing, stated["equation"]
    least_rtt = growth["least_rtt_s"]
    return Control(
        name=name,
        growth=growth["kind"],
        growth_segments=_number(growth["segments_per_rtt"]) if least_rtt is facts.NONE else nan,
        least_rtt_s=0.0 if least_rtt is facts.NONE else _number(least_rtt),
        cubic_c=_number(growth["c"]),
        fast_convergence=growth["fast_convergence"],
        reno_friendly_speedup=growth["reno_friendly_speedup"],
        kept=kept["kind"],
        kept_share=_number(kept["share"]),
        kept_after_mark=after_mark["kind"],
        kept_share_after_mark=_number(after_mark["share"]),
        reacts_to_delay=stated["reacts_to_delay"],
        slow_start_ends_early=stated["slow_start_ends_early"],
        early_end=_early_end(stated["early_end"]),
        start_growth=float(stated["start_growth"] or 2.0),
        equation=equation["loss"] if equation else equation,
        path_model=_path_model(growth["gains"]),
    )


def _early_end(stated: Mapping[str, Any] | None) -> EarlyEnd | None:
    return None if stated is None else EarlyEnd(**stated)


def _path_model(stated: Mapping[str, float] | None) -> PathModel | None:
    if stated is None:
        return None
    return PathModel(**{name: float(stated[name]) for name in PathModel._fields})


def _number(stated: float | None) -> float:
    return nan if stated is None else float(stated)
