"""Asking models about the flows of a scenario, or about captured connections."""

from ackclock.capture.predictions import CONNECTIONS, of_connections, prediction_table
from ackclock.models import chosen, predictions
from ackclock.result import Result
from ackclock.run.description import describe
from ackclock.scenario import Scenario


def predict(source: Scenario | Result, models: str = "all", *, top: int = CONNECTIONS) -> Result:
    """Asks models about every flow of every point, or about captured connections.

    Args:
        source: A scenario, or the result of a run of one, or of `measure`.
        models: Which: `all`, `usual` (what is shown beside a simulation), or names with commas
            between them.
        top: Of a measurement, how many connections they are asked about, those with the most
            payload.

    Returns:
        A result with the table `predictions`; see `ackclock.models.predictions` for its columns,
        and `ackclock.capture.predictions` for those of captured connections.

    Raises:
        ScenarioError: Bad input.
        ValueError: There is no model of that name.
    """
    asked = chosen(models)
    if isinstance(source, Result) and source.run["method"] == "measure":
        run = source.run | {"method": "predict"}
        return Result(run, {"predictions": of_connections(source, asked, top)["predictions"]})
    if isinstance(source, Result):
        run = source.run | {"method": "predict", "partial": False, "warnings": []}
    else:
        points = source.expand()
        run = describe(
            "predict", source, points, [point.scenario.resolve().tree for point in points]
        )
    answers = predictions([point["scenario"] for point in run["points"]], asked)
    return Result(run, {"predictions": prediction_table(answers)})
