//! Tables in the form for Python: `{"column": (type, bytes, …)}`, little-endian.

use ackclock_core::result::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Tables of one or several runs, by name.
pub type Tables = Vec<(&'static str, Table)>;

/// Appends a run's table to the table of the same name.
pub fn append(tables: &mut Tables, name: &'static str, table: Table) {
    match tables.iter_mut().find(|(known, _)| *known == name) {
        Some((_, rows)) => rows.append(table),
        None => tables.push((name, table)),
    }
}

/// Converts tables to `{"name": columns}`.
pub fn by_name<'py>(py: Python<'py>, tables: &Tables) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, table) in tables {
        all.set_item(name, to_python(py, table)?)?;
    }
    Ok(all)
}

/// Converts columns to `("f8", bytes)`, `("i8", bytes)` or `("str", bytes of 32-bit indices,
/// words)`.
pub fn to_python<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in &table.0 {
        match column {
            Column::Number(rows) => {
                columns.set_item(name, ("f8", packed(py, rows, |x| x.to_le_bytes())?))?
            }
            Column::Integer(rows) => {
                columns.set_item(name, ("i8", packed(py, rows, |x| x.to_le_bytes())?))?
            }
            Column::Text(words) => {
                let indices = packed(py, &words.indices, |x| x.to_le_bytes())?;
                columns.set_item(name, ("str", indices, words.values.clone()))?;
            }
        }
    }
    Ok(columns)
}

fn packed<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    rows: &[T],
    encode: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, rows.len() * N, |bytes| {
        let (cells, _) = bytes.as_chunks_mut::<N>();
        for (cell, row) in cells.iter_mut().zip(rows) {
            *cell = encode(*row);
        }
        Ok(())
    })
}
