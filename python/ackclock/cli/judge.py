"""The command `judge`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock.cli.complete import names_of
from ackclock.cli.errors import UNRELIABLE, complain
from ackclock.cli.options import json_option, output_option
from ackclock.cli.output import print_json, print_table, say, say_wrapped
from ackclock.cli.place import claim, force_option
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.judgement.judging import Judgement

# Seconds of a judgement, by default.
_BUDGET_S = 10.0


@click.command()
@click.argument("candidate", shell_complete=names_of("controls"))
@click.option(
    "--field", default="wan", show_default=True, metavar="NAME",
    help="Paths that it is judged on: a name, or a .toml file.",
)  # fmt: skip
@click.option(
    "--budget", type=click.FloatRange(0, min_open=True), default=_BUDGET_S, show_default=True,
    metavar="SECONDS", help="Time that it may take; less time covers fewer paths.",
)  # fmt: skip
@click.option(
    "--salt", default=None, metavar="TEXT",
    help="Text that hides the paths: who does not know it cannot tune for them. Its hash is "
    "printed.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all runs."
)
@click.option(
    "--weights", default="", metavar="NAME=WEIGHT,…",
    help="Weights of measures for a score, which there is not without them.",
)  # fmt: skip
@click.option(
    "--fail-on", type=click.Choice(["flag", "worse", "nothing"]), default="flag",
    show_default=True, help="What makes the exit code 4: a flag, or also a measure that is worse "
    "than CUBIC's.",
)  # fmt: skip
@click.option(
    "--load", is_flag=True,
    help="Load it into the running kernel, emulate its three worst paths, and compare each call "
    "with the engine's.",
)  # fmt: skip
@output_option("Folder of the judgement.", "out/judge-CANDIDATE")
@force_option
@json_option
def judge(
    candidate: str, field: str, budget: float, salt: str | None, seed: int, weights: str,
    fail_on: str, load: bool, output: Path | None, force: bool, as_json: bool,
) -> int:  # fmt: skip
    """Judge in ten seconds whether a congestion control is worth a closer look.

    CANDIDATE is a file in C or Python (mine.bpf.c, mine.py, mine.py:Class), a name, or a table in
    TOML. It is compiled, made to live a thousand short lives, raced, run over hidden paths beside
    the shipped controls, and attacked by a search for its worst path. Prints measures with ranks
    and flags, and writes a page, judge.json and the worst paths as scenarios. The exit code is 4 if
    there is a flag.

    \b
    Example:
      ackclock judge mine.py
      ackclock judge mine.bpf.c --salt "$RANDOM"
      ackclock judge '{ kind = "cubic", beta = 0.8 }' --weights utilisation=1,delay=2
    """
    from ackclock.cli.progress import progress
    from ackclock.judgement.folder import JUDGEMENT, save
    from ackclock.judgement.judging import SALT
    from ackclock.judgement.judging import judge as run

    given = _weights(weights)
    if load:
        from ackclock.judgement import loaded

        loaded.check(candidate)
    folder = claim(
        output, Path("out") / f"judge-{_name(candidate)}", force=force, may_hold=JUDGEMENT,
        repeatable=lambda _: True,
    )  # fmt: skip
    with progress("judge") as tell:
        judged = run(
            candidate, field, budget, salt=SALT if salt is None else salt, seed=seed,
            weights=given, tell=lambda words: tell(None, words),
        )  # fmt: skip
    save(judged, folder)
    if load:
        with progress("judge") as tell:
            loaded.run(judged, folder, lambda words: tell(None, words))
        save(judged, folder)
    if as_json:
        print_json({"page": str(folder / "index.html"), **judged.record})
    else:
        _print(judged, folder)
    return _ended(judged, fail_on)


def _name(candidate: str) -> str:
    """Returns the name of a candidate for folders."""
    from ackclock.judgement.source import read

    return read(candidate).candidate.name


def _weights(text: str) -> dict[str, float]:
    given = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, sign, number = part.partition("=")
        try:
            given[name.strip()] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            words = f'"{part}" is not NAME=WEIGHT; for example utilisation=1,delay=2'
            raise InputError("syntax", "--weights", words, part)
    from ackclock.judgement.measures import BY_NAME

    for name in given:
        if name not in BY_NAME:
            raise InputError.unknown("--weights", "measure", name, BY_NAME)
    return given


def _print(judged: "Judgement", folder: Path) -> None:
    from ackclock.judgement.page import answer, vector_table, worst_table

    record = judged.record
    say_wrapped(answer(record))
    for flag in record["flags"]:
        say_wrapped(f"! {flag['name']}: {flag['words']}")
    if record["vector"]:
        say()
        print_table(vector_table(record))
    if record["worst"]:
        say()
        print_table(worst_table(record))
    if "loaded" in record:
        from ackclock.judgement.page import loaded_table

        say()
        print_table(loaded_table(record["loaded"]))
        for path in record["loaded"]:
            if path["first"]:
                say_wrapped(f"{path['scenario']}: the first call that differs: {path['first']}")
    if "score" in record:
        say()
        shown = "unknown" if record["score"] is None else f"{record['score']:.4g}"
        say(f"  score   {shown}, by your weights")
    say()
    field = record["field"]
    say(f"  paths   hidden by the salt with hash {field['salt']}; {record['seconds']:.1f} s")
    say(f"  page    {folder / 'index.html'}   open it in a browser")
    say(f"  data    {folder / 'judge.json'}")


def _ended(judged: "Judgement", fail_on: str) -> int:
    if fail_on != "nothing" and judged.flags:
        return complain(f"flags: {', '.join(judged.flags)}", UNRELIABLE)
    worse = [row["label"] for row in judged.record["vector"] if row["beside_cubic"] == "worse"]
    if fail_on == "worse" and worse:
        return complain(f"worse than CUBIC: {', '.join(worse)}", UNRELIABLE)
    return 0
