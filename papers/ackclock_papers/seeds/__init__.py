"""The five documents that ackclock grew from, row by row: the page `docs/seeds.md`.

Each document has a file with what it numbers, what it describes, and which sentences state a
result. `benches/seeds.py` writes the page, and a test demands an answer for each row.
"""

from ackclock_papers.seeds import abr, buffers, markov, tfrcp, westwood
from ackclock_papers.seeds.page import page
from ackclock_papers.seeds.row import Document, Row

__all__ = ["DOCUMENTS", "Document", "Row", "page"]

DOCUMENTS: tuple[Document, ...] = (
    abr.DOCUMENT,
    westwood.DOCUMENT,
    tfrcp.DOCUMENT,
    buffers.DOCUMENT,
    markov.DOCUMENT,
)
