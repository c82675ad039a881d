"""The control of a transport."""

from collections.abc import Mapping
from math import nan
from typing import Any

from ackclock.elements import facts
from ackclock.models.path import Control, PathModel

__all__ = ["control", "control_of"]


def control_of(transport: Mapping[str, Any]) -> Control:
    """Returns the congestion or rate control of a transport; one without a name for plain UDP."""
    return control(*facts.control(transport))


def control(name: str, stated: facts.Facts) -> Control:
    """Returns a control by its name and the facts that it states."""
    kept, equation = stated["kept_after_loss"] or {}, stated["equation"] or {}
    after_mark = stated["kept_after_mark"] or {}
    return Control(
        name=name,
        growth=stated["growth"],
        growth_segments=_number(stated["growth_segments_per_rtt"]),
        least_rtt_s=_number(stated["least_rtt_s"]),
        cubic_c=_number(stated["cubic_c"]),
        kept=kept.get("kind"),
        kept_share=_number(kept.get("share")),
        kept_after_mark=after_mark.get("kind"),
        kept_share_after_mark=_number(after_mark.get("share")),
        reacts_to_delay=stated["reacts_to_delay"],
        slow_start_ends_early=stated["slow_start_ends_early"],
        equation=equation.get("loss"),
        path_model=_path_model(stated["path_model"]),
    )


def _path_model(stated: Mapping[str, float] | None) -> PathModel | None:
    if stated is None:
        return None
    return PathModel(**{name: float(stated[name]) for name in PathModel._fields})


def _number(stated: float | None) -> float:
    return nan if stated is None else float(stated)
