"""Predictions for results that are drawn or reported."""

from typing import TYPE_CHECKING

from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.result.result import Result


def predicted(result: "Result", models: str) -> "Result | None":
    """Returns the predictions of models for a result; None for a session.

    A measurement already has predictions, which are returned unless other models are asked for. The
    path of a session is known only from what its sender made of it, so no model is asked.
    """
    from ackclock.run import prediction

    if result.is_session:
        return None
    if models == "usual" and result.run["method"] == "measure" and "predictions" in result.tables:
        return result
    return prediction.predict(result, models)


def check_models(results: "list[Result]", models: str) -> None:
    """Refuses models if there is no result that they could be asked about."""
    if models != "usual" and all(result.is_session for result in results):
        raise InputError("contradiction", "--models", "remove it; models do not apply to a session")
