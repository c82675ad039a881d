import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Kind,
    Origin,
    Outcome,
    Table,
    analytic,
    chosen,
    experiments,
    plain,
    runs,
    stored,
    words,
)
from ackclock.reproduction import digest as digests
from ackclock.reproduction.check import Recorded, changes
from ackclock.reproduction.outcome import NOTHING_PRINTED
from ackclock.table import json_text
from ackclock_papers import tfrcp
from ackclock_papers.own import (
    adaptive_buffers,
    bursts_at_a_router,
    psi_map,
    rate_control,
    which_formula,
)
from ackclock_papers.seeds import DOCUMENTS, Claimed

DOCS = Path(__file__).parents[2] / "docs"

#: Experiments of this project, whatever other packages announce.
OURS = [experiment for experiment in experiments() if experiment.package == "ackclock_papers"]

# Our verdicts, which change only on purpose.
VERDICTS = {
    "markov-table-7.2": Kind.PARTLY,
    "markov-table-7.1": Kind.PARTLY,
    "markov-table-8.1": Kind.PARTLY,
    "markov-table-8.2": Kind.PARTLY,
    "markov-table-8.3": Kind.PARTLY,
    "markov-table-8.4": Kind.PARTLY,
    "markov-table-8.5": Kind.PARTLY,
    "markov-table-8.6": Kind.PARTLY,
    "markov-table-8.7": Kind.PARTLY,
    "markov-table-8.8": Kind.PARTLY,
    "markov-validation-simulated": Kind.PARTLY,
    "markov-figure-8.1": Kind.READING,
    "markov-figure-8.2": Kind.PARTLY,
    "markov-figure-8.3": Kind.PARTLY,
    "markov-figure-8.4": Kind.PARTLY,
    "markov-figure-8.5": Kind.PARTLY,
    "markov-figure-8.6": Kind.NOT,
    "markov-figure-8.7": Kind.PARTLY,
    "markov-figure-8.8": Kind.READING,
    "markov-figure-8.9": Kind.PARTLY,
    "markov-figure-8.10": Kind.PARTLY,
    "markov-figure-8.11": Kind.READING,
    "markov-figure-8.12": Kind.PARTLY,
    "markov-figure-8.13": Kind.PARTLY,
    "rfc9438-table-1": Kind.REPRODUCED,
    "rfc9438-table-2": Kind.REPRODUCED,
    "rfc9438-table-3": Kind.READING,
    "westwood-figure-2": Kind.PARTLY,
    "westwood-figure-3": Kind.PARTLY,
    "westwood-figure-5": Kind.READING,
    "westwood-figure-7": Kind.READING,
    "westwood-figure-9": Kind.PARTLY,
    "westwood-figure-10": Kind.NOT,
    "westwood-figure-11": Kind.PARTLY,
    "westwood-figure-12": Kind.READING,
    "westwood-figure-13": Kind.PARTLY,
    "westwood-figure-13c": Kind.NOT,
    "westwood-figure-14": Kind.READING,
    "westwood-figure-15": Kind.READING,
    "westwood-figure-16a": Kind.READING,
    "westwood-figure-16b": Kind.PARTLY,
    "westwood-figure-18": Kind.PARTLY,
    "westwood-section-4.4a": Kind.READING,
    "westwood-section-4.4b": Kind.READING,
    "westwood-figure-19": Kind.PARTLY,
    "westwood-figure-20a": Kind.READING,
    "westwood-figure-20b": Kind.PARTLY,
    "westwood-figure-21a": Kind.READING,
    "westwood-figure-21b": Kind.PARTLY,
    "westwood-readings": Kind.PARTLY,
    "mechanisms-figure-1": Kind.REPRODUCED,
    "mechanisms-figure-2": Kind.REPRODUCED,
    "abr-figure-8": Kind.PARTLY,
    "abr-figure-9": Kind.PARTLY,
    "abr-figure-2": Kind.PARTLY,
    "abr-figure-10": Kind.PARTLY,
    "abr-figure-11": Kind.PARTLY,
    "abr-figure-12": Kind.PARTLY,
    "abr-figure-13": Kind.PARTLY,
    "abr-figure-14": Kind.PARTLY,
    "abr-figure-15": Kind.PARTLY,
    "abr-figure-16": Kind.READING,
    "abr-figure-17": Kind.PARTLY,
    "abr-figure-18": Kind.PARTLY,
    "abr-figure-19": Kind.PARTLY,
    "abr-figure-20": Kind.PARTLY,
    "abr-figure-21": Kind.PARTLY,
    "abr-figure-22": Kind.PARTLY,
    "abr-figure-23": Kind.PARTLY,
    "abr-section-1": Kind.READING,
    "abr-section-2": Kind.READING,
    "abr-section-4": Kind.PARTLY,
    "abr-source": Kind.PARTLY,
    "abr-cells": Kind.PARTLY,
    "tfrcp-figure-2a": Kind.PARTLY,
    "tfrcp-figure-2b": Kind.PARTLY,
    "tfrcp-figure-2c": Kind.NOT,
    "tfrcp-figure-3": Kind.READING,
    "tfrcp-figure-4": Kind.NOT,
    "tfrcp-figure-5a": Kind.PARTLY,
    "tfrcp-figure-5b": Kind.READING,
    "tfrcp-figure-6": Kind.NOT,
    "tfrcp-readings": Kind.PARTLY,
    "tfrcp-section-2": Kind.READING,
    "short-figure-2": Kind.READING,
    "short-figure-3": Kind.PARTLY,
    "short-figure-4": Kind.READING,
    "short-figure-5": Kind.READING,
    "short-figure-6": Kind.READING,
    "short-figure-7": Kind.PARTLY,
    "short-section-2": Kind.READING,
    "short-section-5": Kind.READING,
    "wifi-figure-8": Kind.PARTLY,
    "wifi-figure-9": Kind.READING,
    "wifi-figure-10": Kind.PARTLY,
    "wifi-figure-11": Kind.READING,
    "wifi-figure-12": Kind.READING,
    "hstcp-figure-14": Kind.PARTLY,
    "hstcp-figure-15": Kind.PARTLY,
    "hstcp-figure-16": Kind.PARTLY,
    "hstcp-figure-17": Kind.PARTLY,
    "bbr-figure-8": Kind.READING,
    "bbr-round-trips": Kind.PARTLY,
    "codel-section-3.2": Kind.PARTLY,
    "pie-round-trips": Kind.PARTLY,
    "l4s-round-trips": Kind.PARTLY,
    "l4s-coexistence": Kind.PARTLY,
    "dctcp-figure-17": Kind.PARTLY,
    "buffers-figure-1": Kind.REPRODUCED,
    "buffers-figure-2": Kind.REPRODUCED,
    "formulas-figure-1": Kind.REPRODUCED,
    "feedback-figure-1": Kind.REPRODUCED,
    "rates-figure-1": Kind.REPRODUCED,
    "rates-figure-2": Kind.REPRODUCED,
    "rates-figure-3": Kind.REPRODUCED,
    "rates-figure-4": Kind.PARTLY,
    "rates-figure-5": Kind.REPRODUCED,
}

# Experiments that simulate something.
SIMULATED = {
    "feedback-figure-1",
    "formulas-figure-1",
    "markov-validation-simulated",
    "mechanisms-figure-2",
    "westwood-validation",
} | {
    name
    for name in VERDICTS
    if name.startswith(
        (
            "westwood-",
            "abr-",
            "tfrcp-",
            "hstcp-",
            "bbr-",
            "codel-",
            "pie-",
            "l4s-",
            "dctcp-",
            "buffers-",
            "short-",
            "wifi-",
            "rates-",
        )
    )
}

# Emulations depend on the machine, and take real time. test_revalidation.py has a short one.
# test_westwood_on_linux.py, test_abr_on_linux.py, test_tfrcp_on_linux.py and
# test_linux_against_engine.py run them without Linux.
EMULATED = {
    "abr-on-linux",
    "linux-against-engine",
    "markov-validation",
    "tfrcp-on-linux",
    "westwood-validation",
}
SIMULATED |= {"abr-on-linux", "linux-against-engine", "tfrcp-on-linux"}

# Parts of the verdict that a reader must not miss.
SAID = [
    ("markov-table-7.2", "22 of 39 numbers"),
    ("markov-table-7.1", "1.5: error against ATp"),
    ("markov-table-8.1", "the text's 0.025"),
    ("markov-table-8.2", "“Text: the error of ET against NoTOTput stays within 10 %”"),
    ("markov-table-8.6", "3 of 3 numbers of “ET as mean window by round over mean"),
    ("markov-figure-8.3", "“Text: and its local one”"),
    ("markov-figure-8.13", "slight changes of p may have significant effect"),
    ("tfrcp-readings", "“One reading gives them as drawn, with an axis"),
    ("short-figure-3", "“Above mu T/d the aggressiveness of slow start has no effect"),
    ("short-figure-7", "“With a large buffer byte counting works perfectly”"),
    ("markov-figure-8.5", "not the variance of the caption"),
    ("markov-figure-8.6", "no sentence and no number that could be read"),
    (
        "markov-figure-8.9",
        "“Text: at its largest the standard deviation is about one third of the mean”",
    ),
    ("markov-figure-8.10", "550, not the caption's 500"),
    ("rfc9438-table-3", "cut off"),
    ("westwood-figure-3", "“3b: RE settles at about 2.4 Mbit/s” (3.23"),
    ("westwood-figure-10", "“10a: ABSE's estimate is accurate"),
    ("westwood-figure-16b", "“ABSE's drop rate is no higher than NewReno's, with 100 packets"),
    ("westwood-figure-18", "“There ABSE has about 500 % of NewReno: at 0.1 %”"),
    ("westwood-figure-20b", "timid"),
    ("abr-figure-8", "“For small psi the conservative analysis is 10 to 20 % below"),
    ("abr-figure-14", "“EFFCAP has more than the low rate alone would give, 0.604: at psi = 1”"),
    ("abr-figure-20", "a memory of 12 round trips"),
    ("abr-section-4", "“Delta is 60 to 70 where TCP's throughput is highest: the smallest of"),
    ("tfrcp-figure-2a", "“TFRCP, M = 2 s: F is close to 1, mean over the loads”"),
    ("tfrcp-figure-2c", "F is close to 1, mean over the loads”"),
    ("tfrcp-figure-4", "the page with the result is lost"),
    ("tfrcp-figure-6", "the page with the result is lost"),
    ("wifi-figure-8", "“with ten uploads they make round trips of around 2 s”"),
    ("wifi-figure-8", "“30 packets give just around 75 % then”"),
    ("hstcp-figure-14", "packets come in trains"),
    ("bbr-figure-8", "the paper was not at hand"),
    ("bbr-round-trips", "“or even starved: their least share”"),
    ("markov-validation-simulated", "guessed"),
]


class Page(NamedTuple):
    """The page on an experiment of ours: its picture, if any, and rows of its tables."""

    path: str
    picture: str
    rows: Mapping[str, Any]


FORMULAS, FEEDBACK, BUFFERS, RATES = (
    f"guides/{name}.md"
    for name in ("which-formula", "rate-feedback", "sizing-a-buffer", "rate-control")
)
PAGES = {
    which_formula.EXPERIMENT.name: Page(FORMULAS, "which-formula.svg", which_formula.SAID),
    psi_map.EXPERIMENT.name: Page(FEEDBACK, "psi-map.svg", psi_map.SAID),
    adaptive_buffers.EXPERIMENT.name: Page(BUFFERS, "adaptive-buffers.svg", adaptive_buffers.SAID),
    bursts_at_a_router.EXPERIMENT.name: Page(
        "notes/why-mm1k-is-too-good.md", "mm1k.svg",
        bursts_at_a_router.SAID | bursts_at_a_router.SAID_OF_OTHERS,
    ),
    "rates-figure-1": Page(RATES, "rate-variation.svg", rate_control.figure_1.SAID),
    "rates-figure-2": Page(RATES, "", rate_control.figures_2_4.SAID),
    "rates-figure-3": Page(RATES, "", rate_control.figures_2_4.SAID),
    "rates-figure-4": Page(RATES, "rate-blackout.svg", rate_control.figures_2_4.SAID),
    "rates-figure-5": Page(RATES, "rate-equation.svg", rate_control.figure_5.SAID),
}  # fmt: skip

# Content of the note on the TFRCP paper: rows of its table, by figure; and numbers in its text, by
# row and column of the first table that has them.
F_TABLE = {
    "tfrcp-figure-2a": (
        "TFRCP, M = 2 s",
        "TFRCP, M = 6 s",
        "TFRC (not in the paper)",
        "CUBIC (not in the paper)",
    ),
    "tfrcp-figure-2b": ("TFRCP, K = 10", "TFRCP, K = 60"),
    "tfrcp-figure-2c": ("TFRCP, 1.5 + U[0, 3] s",),
    "tfrcp-figure-4": ("TFRCP, M = 2 s", "TFRCP, M = 6 s", "CUBIC (not in the paper)"),
}
F_TEXT = [
    (
        "tfrcp-figure-2a",
        ("TFRCP, M = 2 s", "50"),
        {"equation over TCP": "1.2", "for following it": "1.14"},
    ),
    ("tfrcp-figure-2a", ("TFRCP, M = 2 s", "10"), {"its loss, %": "4.4", "TCP's loss, %": "2.8"}),
    ("tfrcp-figure-2a", ("TFRCP, M = 2 s", "10"), {"for other losses and delays": "0.59"}),
    ("tfrcp-figure-2a", ("500 B", "100 ms", "4 × BDP"), {"TFRCP, M = 2 s: mean": "0.76"}),
    ("tfrcp-figure-2a", ("1000 B", "20 ms", "1 × BDP"), {"TFRCP, M = 5 s: mean": "2.4"}),
    ("tfrcp-figure-2b", ("TFRCP, K = 60", "50"), {"its loss, %": "23", "TCP's loss, %": "12"}),
    ("tfrcp-figure-3", ("TFRCP, M = 2 s",), {"N = 20": "1.3"}),
    ("tfrcp-figure-5b", ("1000 B", "20 ms", "1 × BDP"), {"TFRCP, M = 2 s": "1.7"}),
    ("tfrcp-readings", ("all start at once",), {"M = 2 s, N = 50": "1.16"}),
    ("tfrcp-readings", ("starts within 6 s",), {"M = 2 s, N = 50": "1.48"}),
    ("tfrcp-readings", ("b = 1, ACKs delayed",), {"K = 10, N = 50": "2.1"}),
    ("tfrcp-readings", ("runs of 200 s",), {"K = 60, N = 50": "0.45"}),
    ("tfrcp-readings", ("runs of 5000 s",), {"K = 60, N = 50": "1.37"}),
    (
        "tfrcp-readings",
        ("b = 1, 5 ms, 4 × BDP",),
        {"K = 60, N = 50": "3.3", "M = 2 s, N = 50": "3.1"},
    ),
]

every_record = pytest.mark.parametrize("experiment", OURS, ids=lambda experiment: experiment.name)

# Files written by `make reproduce-check`.
RECORDED_IN = Path(__file__).parent / "recorded"
RECORDED = Recorded(RECORDED_IN)
#: Largest cost, in seconds, of an experiment without stored tables that tests still run.
CHEAP_S = 5
OWNED = list(digests.owned(OURS))


class Concluded:
    """A concluded experiment."""

    def __init__(self, experiment: Experiment, results: Mapping[str, Result]) -> None:
        self.experiment = experiment
        self.outcome: Outcome = experiment.outcome(results)

    @cached_property
    def figure(self) -> Figure:
        return self.outcome.draw()


def is_concluded_by_tests(experiment: Experiment) -> bool:
    """Returns whether its tables are stored, or it is cheap or only computed; False if emulated."""
    return experiment.name not in RECORDED.large or experiment.cost_s <= CHEAP_S


def concluded_by_tests(experiment: Experiment) -> object:
    """Returns an experiment as a parameter, skipped if its tables are too large to be stored."""
    marks = [pytest.mark.slow]
    if not is_concluded_by_tests(experiment):
        marks.append(
            pytest.mark.skip(reason="its tables are too large to be stored: make reproduce-check")
        )
    return pytest.param(experiment, marks=marks, id=experiment.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of results: runs that experiments share are run once."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(
    scope="module",
    params=[
        concluded_by_tests(experiment) for experiment in OURS if experiment.name not in EMULATED
    ],
)
def concluded(request: pytest.FixtureRequest, folder: Path) -> Concluded:
    """Each experiment in turn, for all its tests: from stored tables, or if these are large, a run.

    `test_runs_give_the_tables_that_are_stored` checks that a run would give the same.
    """
    experiment = request.param
    if experiment.name not in SIMULATED or experiment.name in RECORDED.large:
        return Concluded(experiment, runs.results(experiment.runs(), folder, lambda _share: None))
    try:
        return Concluded(experiment, stored.load(experiment, RECORDED.tables(experiment)))
    except stored.NotStoredError as missing:
        pytest.fail(f"{missing}; make reproduce-check stores them", pytrace=False)


def test_every_table_and_figure_is_there_once() -> None:
    assert [experiment.name for experiment in OURS] == list(
        dict.fromkeys(experiment.name for experiment in OURS)
    )
    assert {experiment.name for experiment in OURS} == set(VERDICTS) | EMULATED
    named = [*PAGES, *F_TABLE, *(name for name, *_ in [*F_TEXT, *SAID])]
    assert set(named) <= VERDICTS.keys()


def test_the_gallery_page_says_what_we_say() -> None:
    kinds = {
        name: max((kind for kind in Kind if verdict.startswith(kind)), key=len)
        for name, verdict in gallery_rows().items()
    }
    assert {name: kind for name, kind in kinds.items() if name not in EMULATED} == VERDICTS


def gallery_rows() -> dict[str, str]:
    """Returns the verdict on the gallery page, by experiment."""
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\S+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE))


def test_pages_have_this_verdict_these_figures_and_these_numbers(concluded: Concluded) -> None:
    name = concluded.experiment.name
    listed = gallery_rows()[name]
    if not listed.endswith(f"see `ackclock reproduce {name}`"):  # it would fill the page
        assert listed == str(concluded.outcome.verdict)
    if (DOCS / "images" / "gallery" / f"{name}.svg").exists():
        assert_drawn_alike(concluded, f"gallery/{name}.svg")
    if name in PAGES:
        path, picture, rows = PAGES[name]
        if picture:
            assert_drawn_alike(concluded, picture)
        assert set(table_rows(rows)) <= set((DOCS / path).read_text(encoding="utf-8").splitlines())
    if concluded.experiment in tfrcp.EXPERIMENTS:
        note = (DOCS / "notes" / "tfrcp-figures.md").read_text(encoding="utf-8")
        assert_has_what_came_of_tfrcp(note, name, concluded.outcome.tables)


def table_rows(texts: Mapping[str, Any], *before: str) -> Iterator[str]:
    """Yields the rows of a table: cells by the one before them, and so on."""
    for first, rest in texts.items():
        if isinstance(rest, Mapping):
            yield from table_rows(rest, *before, first)
        else:
            yield f"| {' | '.join((*before, first, *rest))} |"


def assert_has_what_came_of_tfrcp(note: str, name: str, tables: Sequence[Table]) -> None:
    def cell(row: tuple[str, ...], column: str) -> str:
        rows = (
            dict(zip(table.head, cells, strict=True))
            for table in tables
            for cells in table.rows
            if cells[: len(row)] == row and column in table.head
        )
        return next(rows)[column]

    figure = name.removeprefix("tfrcp-figure-")
    for sender in F_TABLE.get(name, ()):
        values = (cell((sender,), f"N = {load}") for load in (10, 30, 50))
        assert f"| {' | '.join((figure, sender, *values))} |" in note.splitlines()
    for row, texts in (entry for experiment, *entry in F_TEXT if experiment == name):
        for column, text in texts.items():
            digits = len(text.partition(".")[2])
            assert f"{float(cell(row, column).partition(' ')[0]):.{digits}f}" == text
            assert text in note


@pytest.mark.slow
@every_record
def test_a_record_says_what_it_is(experiment: Experiment) -> None:
    if re.fullmatch(r"(Table|Figure|Section) [0-9.]+[a-z]?", experiment.shows):
        assert experiment.name == f"{experiment.group}-{experiment.shows.lower().replace(' ', '-')}"
    else:
        assert re.fullmatch(
            rf"{experiment.group}-(validation(-[a-z]+)?|readings|on-linux|against-engine|round-trips|"
            r"coexistence|cells|source)",
            experiment.name,
        )
    assert experiment.question.endswith("?")
    assert experiment.says.endswith(".")
    assert re.search(r"\b(19|20)\d\d$", experiment.source)
    assert experiment.cost_s > 0
    each_run = experiment.runs().values()
    methods = {run.method for run in each_run}
    expected = {"simulate": SIMULATED, "emulate": EMULATED}
    assert methods == {method for method, names in expected.items() if experiment.name in names}
    for run in each_run:
        run.scenario.check()


@pytest.mark.slow
@pytest.mark.parametrize("name", dict.fromkeys(owned.experiment for owned in OWNED))
def test_runs_give_the_tables_that_are_stored(name: str) -> None:
    """Runs one short replicate of each run: see `ackclock.reproduction.digest`."""
    for owned in OWNED:
        if owned.experiment == name and digests.digest(owned.run) != RECORDED.digests.get(
            digests.key(owned.run)
        ):
            pytest.fail(
                f'{name}: run "{owned.name:.80}" changed or is new; make reproduce-check',
                pytrace=False,
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "experiment",
    [experiment for experiment in OURS if not is_concluded_by_tests(experiment)],
    ids=lambda experiment: experiment.name,
)
def test_what_concludes_from_tables_that_are_not_stored_did_not_change(
    experiment: Experiment,
) -> None:
    changed = changes(experiment, RECORDED)
    if any(cited.experiment == experiment.name for cited in CITED):
        assert_claims_what_sentences_cite(experiment.name, digests.brief_outcome(experiment))
    if changed:
        pytest.fail(f"{experiment.name}: {changed}; make reproduce-check", pytrace=False)


#: What sentences of the five documents say is claimed, by experiment.
CITED = [claim for document in DOCUMENTS for each in document.sentences for claim in each.claims]


def assert_claims_what_sentences_cite(name: str, outcome: Outcome) -> None:
    missing = [cited for cited in CITED if cited.experiment == name and not cited.is_in(outcome)]
    assert missing == []


def test_what_sentences_cite_is_claimed(concluded: Concluded) -> None:
    assert_claims_what_sentences_cite(concluded.experiment.name, concluded.outcome)


def test_a_sentence_that_cites_no_published_claim_is_noticed() -> None:
    outcome = outcome_of(MET, claims=(RISES, replace(FALLS, origin=Origin.INFERRED)))
    cited = {
        begins: Claimed("any", begins).is_in(outcome)
        for begins in ("it rises", "Rates", "it falls", "it rise ", "rises")
    }
    assert cited == {
        "it rises": True, "Rates": True, "it falls": False, "it rise ": False, "rises": False
    }  # fmt: skip


def test_nothing_is_recorded_of_what_is_not_there() -> None:
    assert RECORDED.digests.keys() == {digests.key(owned.run) for owned in OWNED}
    assert RECORDED.large.keys() <= SIMULATED
    stored_names = {path.name for path in RECORDED_IN.iterdir() if path.is_dir()}
    assert stored_names <= SIMULATED - RECORDED.large.keys()


def test_the_verdict_is_the_documented_one(concluded: Concluded) -> None:
    experiment, outcome = concluded.experiment, concluded.outcome
    assert outcome.failures == []
    assert outcome.verdict.kind is VERDICTS[experiment.name]
    assert all(words in str(outcome.verdict) for name, words in SAID if name == experiment.name)
    # Every claim documented to fail exists.
    assert experiment.failing <= {claim.said for claim in outcome.claims}


def test_every_number_is_compared_and_agrees_unless_it_is_excepted(concluded: Concluded) -> None:
    if not concluded.outcome.comparisons:
        assert concluded.outcome.claims, "it neither compares nor claims anything"
        pytest.skip("it compares no numbers: its claims are in the verdict's test")
    for comparison in concluded.outcome.comparisons:
        assert comparison.cells, comparison.title
        for cell in comparison.cells:
            assert len(cell.row) == len(comparison.keys)
            # A cell that agrees is not an exception.
            assert cell.agrees != bool(cell.excepted), (comparison.title, cell)


def test_what_was_guessed_is_called_so(concluded: Concluded) -> None:
    outcome = concluded.outcome
    guessed = [
        setting
        for setting in outcome.settings
        if setting.origin is Origin.GUESSED and "compared" not in setting.name
    ]
    # A reading is named where the verdict depends on it.
    assert bool(guessed) == ("guessed" in str(outcome.verdict))


def test_what_is_ours_is_not_called_published(concluded: Concluded) -> None:
    experiment, outcome = concluded.experiment, concluded.outcome
    origins = {
        record.origin
        for part in (outcome.comparisons, outcome.claims, outcome.settings)
        for record in part
    }
    ours = {Origin.STATED, Origin.CHOSEN}
    if experiment.group in ("feedback", "formulas", "mechanisms", "rates", "buffers"):
        assert origins == ours
    else:
        assert not origins & ours
    # An unpublished computation is not called printed.
    unpublished = re.compile("independent|other simulation|another simulation|reference comput")
    for entry in (*outcome.comparisons, *outcome.claims):
        title = entry.title if isinstance(entry, Comparison) else entry.said
        assert not unpublished.search(title) or entry.origin is Origin.REFERENCE, title


def test_tables_are_rectangular(concluded: Concluded) -> None:
    if not concluded.outcome.tables:
        pytest.skip("it has no tables")
    for table in concluded.outcome.tables:
        assert {len(row) for row in table.rows} == {len(table.head)}


def test_the_figure_can_be_read_without_colour(concluded: Concluded) -> None:
    if len(concluded.figure.axes) > 1:  # heat maps and their scale: each cell has its number
        for panel in concluded.figure.axes[:-1]:
            [cells] = panel.collections
            assert len(panel.texts) >= cells.get_array().size > 0
        return
    [axes] = concluded.figure.axes
    # Caps of intervals have no label of their own, which Matplotlib writes with an underscore.
    lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
    looks = [
        (str(line._dash_pattern), str(line.get_marker()), line.get_linestyle()) for line in lines
    ]
    assert len(set(looks)) == len(looks)
    assert axes.get_legend() is not None
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {
        line.get_label() for line in lines
    }
    for label in (axes.get_xlabel(), axes.get_ylabel()):
        assert label
        unitless = ("loss probability p", "probability", "connection")
        assert label in unitless or re.search(r"\(.+\)$", label), label


def test_the_figure_shows_what_is_compared(concluded: Concluded) -> None:
    """Checks that the figure has both numbers of each cell at the right place."""
    compared = concluded.outcome.comparisons
    if not compared or compared[0].keys not in (("p",), ("Mbit/s",)):
        pytest.skip("it compares nothing by the quantity to the right")
    comparison = compared[0]
    drawn = [np.column_stack(line.get_data()) for line in concluded.figure.axes[0].get_lines()]
    points = np.concatenate(drawn)
    for cell in comparison.cells:
        if cell.quantity == "W, segments":
            continue  # follows from the rate
        for value in (cell.ours, cell.theirs):
            near = np.isclose(points, (float(cell.row[0]), value), rtol=1e-12).all(axis=1)
            assert near.any(), (cell, value)


def assert_drawn_alike(concluded: Concluded, name: str) -> None:
    """Asserts that a guide's picture is what would be drawn now."""
    shown = (DOCS / "images" / name).read_text(encoding="utf-8")
    drawn = plot.render(concluded.figure, "svg", text=True).decode("utf-8")
    # Coordinates in points; the last digit may depend on the version of the plotting library.
    then, now = (np.array(re.findall(r"-?[0-9]+\.[0-9]+", text), float) for text in (shown, drawn))
    remedy = f"make it anew: ackclock reproduce {concluded.experiment.group}"
    np.testing.assert_allclose(now, then, rtol=0, atol=1, err_msg=remedy)


def test_names_and_groups_choose_in_the_catalogues_order() -> None:
    names = [
        experiment.name
        for experiment in chosen(["rfc9438", "markov-table-7.2", "rfc9438-table-1"], OURS)
    ]
    assert names == ["markov-table-7.2", "rfc9438-table-1", "rfc9438-table-2", "rfc9438-table-3"]
    groups = [
        "markov",
        "rfc9438",
        "westwood",
        "abr",
        "tfrcp",
        "short",
        "wifi",
        "hstcp",
        "buffers",
        "mechanisms",
        "formulas",
        "feedback",
        "rates",
        "linux",
        "bbr",
        "codel",
        "pie",
        "l4s",
        "dctcp",
    ]
    assert len(chosen(groups, OURS)) == len(OURS)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("markov-figure-8.14", "markov-figure-8."),
        ("rfc9439", "rfc9438"),
        ("wombat", "ackclock reproduce --list"),
    ],
)
def test_a_wrong_name_gets_the_nearest(name: str, near: str) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f'unknown experiment or group "{name}"')
    ) as refused:
        chosen([name], OURS)
    assert near in str(refused.value)
    assert "\n" not in str(refused.value)


NOTHING_TAKEN = Basis()


def outcome_of(
    *cells: Cell,
    claims: tuple[Claim, ...] = (),
    origin: Origin = Origin.PRINTED,
    basis: Basis = NOTHING_TAKEN,
) -> Outcome:
    comparison = Comparison("Rates", origin, ("p",), cells, "within the last digit")
    return Outcome(basis, (comparison,), Figure, claims)


MET, MISSED = (
    Cell.of(("0.1",), "rate", "7.21", 7.214),
    Cell.of(("0.9",), "rate", "3.72", 3.28, excepted="a misprint"),
)
RISES = Claim("it rises", "it does", holds=True)
FALLS = Claim("it falls", "it rises", holds=False, documented=False, why="nobody knows")


class TestVerdict:
    """A verdict follows from what is published alone."""

    def test_it_is_reproduced_if_all_holds(self) -> None:
        assert outcome_of(MET, claims=(RISES,)).verdict.kind is Kind.REPRODUCED
        taken = outcome_of(MET, claims=(RISES,), basis=Basis("b = 1", "never said")).verdict
        assert (taken.kind, str(taken)) == (Kind.READING, "reproduced with reading: b = 1")

    @pytest.mark.parametrize("claims", [(FALLS,), (RISES, FALLS)])
    def test_it_is_partly_if_something_does_not_and_that_stands_first(
        self, claims: tuple[Claim, ...]
    ) -> None:
        verdict = outcome_of(MET, claims=claims, basis=Basis("b = 1", "the text is short")).verdict
        assert verdict.kind is Kind.PARTLY
        assert str(verdict) == (
            "partly reproduced: “it falls” (it rises); why: nobody knows; the text is short; "
            "taken: b = 1"
        )

    def test_a_number_that_is_excepted_is_not_met_all_the_same(self) -> None:
        verdict = outcome_of(MET, MISSED).verdict
        assert verdict.kind is Kind.PARTLY
        assert str(verdict) == (
            "partly reproduced: 1 of 2 numbers of “Rates” (0.9: rate 3.72 (ours 3.28)); why: a "
            "misprint"
        )

    def test_a_number_that_is_not_met_is_written_unlike_the_printed_one(self) -> None:
        verdict = outcome_of(MET, Cell.of(("0.1",), "rate", "1804.00", 1803.96, excepted="cut off"))
        assert "(0.1: rate 1804.00 (ours 1803.96))" in str(verdict.verdict)

    def test_of_many_numbers_that_are_not_met_the_farthest_are_named(self) -> None:
        missed = [
            Cell(("a",), "rate", "10", 12.0, within=1.0),
            Cell(("b",), "rate", "10", 16.0, within=1.0),
            Cell(("c",), "rate", "10", 19.0, within=5.0),
            Cell(("d",), "rate", "10", float("nan"), within=1.0),
            Cell(("e",), "rate", "10", 5.0, within=1.0),
        ]
        few = [replace(cell, excepted="a misprint") for cell in missed]
        assert "5 of 6 numbers of “Rates” (a: rate 10 (ours 12), b: rate 10 (ours 16), c: " in str(
            outcome_of(MET, *few).verdict
        )
        many = [*few, Cell(("f",), "rate", "10", 13.0, within=1.0, excepted="a misprint")]
        assert str(outcome_of(MET, *many).verdict) == (
            "partly reproduced: 6 of 7 numbers of “Rates” (farthest beyond the tolerance: d: rate "
            "10 (ours nan), b: rate 10 (ours 16), e: rate 10 (ours 5), f: rate 10 (ours 13), a: "
            "rate 10 (ours 12)); why: a misprint"
        )

    def test_it_is_not_if_nothing_holds(self) -> None:
        assert outcome_of(MISSED, claims=(FALLS,)).verdict.kind is Kind.NOT
        assert Outcome(Basis(), (), None, (FALLS,)).verdict.kind is Kind.NOT

    @pytest.mark.parametrize("origin", [Origin.INFERRED, Origin.REFERENCE])
    def test_what_is_not_published_never_counts(self, origin: Origin) -> None:
        ours = replace(RISES, origin=origin)
        nothing = outcome_of(MET, claims=(ours,), origin=origin).verdict
        assert (nothing.kind, nothing.failing) == (Kind.NOT, (NOTHING_PRINTED,))
        assert (
            outcome_of(
                MISSED, claims=(RISES, replace(FALLS, origin=origin)), origin=origin
            ).verdict.kind
            is Kind.REPRODUCED
        )
        assert outcome_of(MET, claims=(FALLS, ours), origin=origin).verdict.kind is Kind.NOT

    def test_what_a_guide_of_ours_states_counts_as_published(self) -> None:
        assert (
            outcome_of(
                MET, claims=(replace(FALLS, origin=Origin.STATED),), origin=Origin.STATED
            ).verdict.kind
            is Kind.PARTLY
        )


@pytest.mark.parametrize(
    ("mean", "half_width", "holds"),
    [
        (1.2, 0.1, True),
        (1.2, 0.3, False),
        (0.9, 0.05, False),
        (1.2, float("nan"), True),
        (1.1, 0.11, False),
    ],
)
def test_a_difference_shows_only_if_the_whole_interval_is_on_its_side(
    mean: float, half_width: float, holds: bool
) -> None:
    claim = Claim.of("it is more", Interval(mean, half_width, 5), Band(1.0), "times", than=1.0)
    assert claim.holds is holds
    assert ("the interval holds 1" in claim.found) == (mean > 1 and not holds)


@pytest.mark.parametrize(
    ("mean", "half_width", "holds"),
    [
        (3.24, 0.0, True),
        (3.26, 0.0, False),
        (3.4, 0.25, True),
        (3.4, 0.15, False),
        (3.24, float("nan"), True),
    ],
)
def test_a_printed_number_is_met_to_its_last_digit_or_within_our_interval(
    mean: float, half_width: float, holds: bool
) -> None:
    assert Claim.printed("BE is 3.2", Interval(mean, half_width, 5), "3.2", "Mbit/s").holds is holds


@pytest.mark.parametrize(
    ("band", "inside", "outside"),
    [
        (words.about("2.4"), (2.17, 2.63), (2.15, 2.65, 3.21)),
        (words.about("5"), (4.5, 5.5), (3.5, 4.39, 5.6)),
        (words.about("1"), (0.9, 1.1), (1.43, 1.45)),
        (words.about("98", whole=100), (97, 99), (96.9, 99.1)),
        (words.about("60", whole=100), (56, 64), (55.9, 74)),
        (words.about("0.90", whole=1), (0.89, 0.91), (0.88, 0.92)),
        (words.from_to("10", "20"), (9.5, 20.5), (9.4, 20.6)),
        (words.SLIGHT_PERCENT, (0, 10), (-0.1, 10.1)),
    ],
)
def test_a_band_is_no_wider_than_the_words(
    band: Band, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    assert all(band.holds(value) for value in inside)
    assert not any(band.holds(value) for value in outside)


def test_what_numpy_has_judged_is_written_too() -> None:
    claim = Claim("it rises", "it does", np.bool_(True))
    written = json.loads(
        json_text(
            plain(outcome_of(Cell.of(("0.1",), "rate", "7.21", np.float64(7.214)), claims=(claim,)))
        )
    )
    assert written["claims"][0]["holds"] is True
    assert written["comparisons"][0]["cells"][0]["agrees"] is True


def test_a_number_that_moved_fails_the_expectation() -> None:
    assert outcome_of(Cell.of(("0.1",), "rate", "7.21", 7.214)).verdict.kind is Kind.REPRODUCED
    moved = outcome_of(Cell.of(("0.1",), "rate", "7.21", 7.22))
    assert moved.verdict.kind is Kind.CHANGED
    assert moved.failures == ["Rates: 0.1: rate is 7.22, not 7.21"]
    assert outcome_of(Cell.of(("0.1",), "rate", "7.21", 9.0, excepted="a misprint")).failures == []
    assert outcome_of(Cell.of(("0.1",), "rate", "7.21", float("nan"))).verdict.kind is Kind.CHANGED


@pytest.mark.parametrize(
    ("holds", "documented"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_a_claim_fails_if_it_changes_sides(holds: bool, documented: bool) -> None:
    outcome = outcome_of(claims=(Claim("it rises", "it does something", holds, documented),))
    assert (outcome.verdict.kind is Kind.CHANGED) == (holds != documented)


@given(st.decimals(min_value=-1000, max_value=1000, places=3), st.floats(-1.5, 1.5))
def test_numbers_agree_up_to_half_of_the_last_digit(number: object, digits: float) -> None:
    ours = float(str(number)) + digits * 1e-3
    cell = Cell.of((), "rate", str(number), ours)
    if abs(abs(digits) - 0.5) > 1e-6:
        assert cell.agrees == (abs(digits) < 0.5)


def test_a_share_counts_where_it_is_more_than_the_last_digit() -> None:
    assert Cell.of((), "rate", "100", 100.9, 0.01).agrees
    assert not Cell.of((), "rate", "100", 101.1, 0.01).agrees
    assert Cell.of((), "rate", "1.0e-10", 1.04e-10).agrees
    assert not Cell.of((), "rate", "1.0e-10", 1.06e-10).agrees


def test_a_mean_is_met_within_its_interval_or_the_last_digit() -> None:
    assert Cell.within_interval((), "rate", "7.2", Interval(7.4, 0.25, 5)).agrees
    assert not Cell.within_interval((), "rate", "7.2", Interval(7.5, 0.25, 5)).agrees
    for half_width in (0.0, float("nan")):
        assert Cell.within_interval((), "rate", "7.2", Interval(7.24, half_width, 5)).agrees
        assert not Cell.within_interval((), "rate", "7.2", Interval(7.26, half_width, 5)).agrees


def test_the_plain_form_has_everything() -> None:
    table = Table("More", ("a",), (("1",),))
    outcome = Outcome(
        Basis(),
        (
            Comparison(
                "Rates", Origin.INFERRED, ("p",), (Cell.of(("0.1",), "rate", "7.20", 7.21),), "near"
            ),
        ),
        Figure,
        tables=(table,),
    )
    [cell] = plain(outcome)["comparisons"][0]["cells"]
    assert cell["text"] == "7.20"
    assert cell["relative_difference"] == pytest.approx(7.21 / 7.2 - 1)
    assert not cell["agrees"]
    assert plain(outcome)["tables"] == [{"title": "More", "head": ["a"], "rows": [["1"]]}]
    assert analytic(lambda: outcome)({}) is outcome


@pytest.mark.parametrize(
    ("mean", "half_width", "holds", "evidence"),
    [
        (3.2, 0.1, True, "3.20 ± 0.10 Mbit/s"),
        (3.0, 0.3, True, "3.00 ± 0.30 Mbit/s; the interval reaches beyond the band"),
        (2.8, 0.3, False, "2.80 ± 0.30 Mbit/s; the interval reaches into the band"),
        (2.0, 0.3, False, "2.00 ± 0.30 Mbit/s"),
        (3.0, float("nan"), True, "3.000 Mbit/s"),
        (float("nan"), float("nan"), False, "– Mbit/s"),
    ],
)
def test_a_claim_about_a_mean_tells_its_band_and_where_the_interval_ends(
    mean: float, half_width: float, holds: bool, evidence: str
) -> None:
    claim = Claim.of("It is 3.2", Interval(mean, half_width, 5), Band(2.9, 4.0), "Mbit/s")
    assert claim.holds is holds
    assert claim.found == evidence
    assert claim.accepted == "2.9 to 4 Mbit/s"
    assert claim.fails is not holds


def test_a_band_has_one_end_or_two() -> None:
    assert [str(band) for band in (Band(1.5), Band(most=0.9), Band(1, 2))] == [
        "at least 1.5",
        "at most 0.9",
        "1 to 2",
    ]
    assert Band(1.5).holds(1.5)
    assert not Band(1.5).holds(1.4)
    assert not Band(1, 2).holds(float("nan"))


def test_an_outcome_of_shortened_runs_is_quick_and_nothing_is_expected_of_it() -> None:
    cell = Cell.simulated(("0.1",), "rate", "7.21", Interval(9.0, 0.5, 2), within=0.1)
    claim = Claim.of("It is 7", Interval(9.0, 0.5, 2), Band(6, 8))
    outcome = replace(outcome_of(cell, claims=(claim,)), quick="2 instead of 5 replicates")
    assert outcome.verdict.kind is Kind.QUICK
    assert str(outcome.verdict).startswith(
        "quick: 2 instead of 5 replicates; not as documented: Rates: 0.1: rate is 9"
    )
    record = plain(outcome)
    assert [written["fails"] for written in record["claims"]] == [False]
    [kept_cell] = record["comparisons"][0]["cells"]
    assert kept_cell["half_width"] == 0.5
    assert (
        str(replace(outcome_of(), quick="shorter").verdict)
        == "quick: shorter; all that is documented shows"
    )
