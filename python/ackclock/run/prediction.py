"""Asks models about the flows of a scenario, or about captured connections."""

from ackclock.capture.predictions import CONNECTIONS, of_connections, prediction_table
from ackclock.models import chosen, predictions
from ackclock.result.result import Result
from ackclock.run.description import describe
from ackclock.scenario import Scenario


def predict(source: Scenario | Result, models: str = "all", *, top: int = CONNECTIONS) -> Result:
    """Asks models about every flow of every point, or about captured connections.

    Args:
        source: A scenario, or the result of a run of one, or of `measure`.
        models: `all`, `usual` (those shown beside a simulation), or names separated by commas.
        top: For a measurement, the number of connections, those with the most payload.

    Returns:
        A result with the table `predictions`. `ackclock.models.predictions` describes its columns,
        and `ackclock.capture.predictions` those of captured connections.

    Raises:
        ScenarioError: Bad input.
        ValueError: A model is unknown.
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
