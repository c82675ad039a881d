"""The folder of a judgement: its record, its page, and the worst paths as scenarios."""

import re
from pathlib import Path

from ackclock.judgement.judging import Judgement, file_of, scenario_text
from ackclock.judgement.page import page
from ackclock.result.folder import Contents, write_whole
from ackclock.result.manifest import write_sealed

#: What the folder of a judgement may hold. The candidate's file is beside the worst paths.
JUDGEMENT = Contents(
    "judgement",
    "judge.json",
    re.compile(r"judge\.json|index\.html|worst-[0-9]+\.toml|[^/]+\.(py|bpf\.c|bpf\.o)"),
)


def save(judgement: Judgement, folder: Path) -> None:
    """Writes a judgement into a folder, in place of another one there."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("worst-*.toml"):
        stale.unlink()
    record = judgement.record
    texts = []
    for number, (path, tree) in enumerate(
        zip(record["worst"], judgement.scenarios, strict=True), 1
    ):
        comment = f"{record['candidate']['name']} on {path['title']}: worse than CUBIC here."
        texts.append(scenario_text(tree, comment))
        write_whole(file_of(folder, number), texts[-1])
    for name, content in judgement.files.items():
        (folder / name).write_bytes(content)
    write_whole(folder / "index.html", page(record, texts))
    write_sealed(folder / JUDGEMENT.mark, record)
