"""Tables of results, so that they can be compared."""

from __future__ import annotations

import pyarrow as pa


def plain(table: pa.Table) -> pa.Table:
    """Returns a table with text instead of codes."""
    return pa.table(
        {
            name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
