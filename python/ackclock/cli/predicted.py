"""What models say of results that are drawn or reported."""

from typing import TYPE_CHECKING

from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.result import Result


def predicted(result: "Result", models: str) -> "Result | None":
    """What models say; of a measurement, unless others are asked for, what those said that were asked then.

    No model is asked about a session: of the path nothing is known but what the sender made of it.
    """
    from ackclock.run import prediction

    if result.is_session:
        return None
    if models == "usual" and result.run["method"] == "measure" and "predictions" in result.tables:
        return result
    return prediction.predict(result, models)


def check_models(results: "list[Result]", models: str) -> None:
    """Refuses models if no result is there that they could be asked about."""
    if models != "usual" and all(result.is_session for result in results):
        raise InputError("contradiction", "--models", "remove it; models do not apply to a session")
