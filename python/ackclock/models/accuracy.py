"""The accuracy of a model's outputs, as data."""

from dataclasses import dataclass

#: Where an error band comes from: it is exact within the assumptions, somebody published it, or we
#: measured it with the simulator.
ORIGINS = ("proof", "publication", "measured")


@dataclass(frozen=True)
class Accuracy:
    """The error band of some outputs of a model, for flows that violate no assumption.

    Attributes:
        outputs: Names of the outputs.
        within: Largest error, as a share of the quantity; zero if exact within the assumptions.
        origin: One of `ORIGINS`.
        source: The proof, the publication, or the domain of the measurement.
    """

    outputs: tuple[str, ...]
    within: float
    origin: str
    source: str

    @property
    def words(self) -> str:
        """The band in words, such as `within 5 %`."""
        return f"within {100 * self.within:g} %" if self.within else "exact"
