"""The five documents that ackclock grew from, row by row: the page `docs/seeds.md`.

Each document has a file with what it numbers, what it describes, and which sentences state a
result. `benches/seeds.py` writes the page. Tests demand an answer for each row and each sentence,
and that the claims which answer a sentence exist.
"""

from ackclock_papers.seeds import abr, buffers, markov, tfrcp, westwood
from ackclock_papers.seeds.page import page
from ackclock_papers.seeds.row import Claimed, Document, Row, Sentence

__all__ = ["DOCUMENTS", "Claimed", "Document", "Row", "Sentence", "page"]

DOCUMENTS: tuple[Document, ...] = (
    abr.DOCUMENT,
    westwood.DOCUMENT,
    tfrcp.DOCUMENT,
    buffers.DOCUMENT,
    markov.DOCUMENT,
)
