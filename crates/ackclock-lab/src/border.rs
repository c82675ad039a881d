//! The border to JavaScript: functions of the WebAssembly module.
//!
//! Text crosses as UTF-8. The page writes a request into memory from [`allocate`] and passes its
//! address and length. A function returns the length of its answer, JSON, whose address is
//! [`answer`]. A column crosses as address and length, to be copied before the next call.
#![expect(unsafe_code, reason = "names and memory that JavaScript sees")]

use crate::laboratory::{self, Laboratory};
use crate::refusal::{Answer, unknown, written};
use ackclock_core::result::{Column, Table};
use serde_json::{Value, json};
use std::cell::RefCell;

thread_local! {
    static LABORATORY: RefCell<Laboratory> = RefCell::default();
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the address of so many bytes, for a request.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Takes back the memory of a request.
fn request(address: *mut u8, length: usize) -> Vec<u8> {
    // SAFETY: the page passes what `allocate` returned with the same length, once.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(address, length)) }.into_vec()
}

/// Returns the address of the latest answer.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// Keeps an answer, and returns its length.
fn keep(answer: Answer) -> usize {
    let text = written(answer).to_string().into_bytes();
    let length = text.len();
    ANSWER.set(text);
    length
}

fn json_of(address: *mut u8, length: usize) -> Answer {
    serde_json::from_slice(&request(address, length)).map_err(|_| unknown("something unreadable"))
}

/// [`laboratory::describe`].
#[unsafe(no_mangle)]
extern "C" fn describe() -> usize {
    keep(Ok(laboratory::describe()))
}

/// [`laboratory::read`].
#[unsafe(no_mangle)]
extern "C" fn read(address: *mut u8, length: usize) -> usize {
    let text = request(address, length);
    keep(laboratory::read(&String::from_utf8_lossy(&text)))
}

/// [`laboratory::write`].
#[unsafe(no_mangle)]
extern "C" fn write(address: *mut u8, length: usize) -> usize {
    keep(json_of(address, length).map(|tree| laboratory::write(&tree)))
}

/// [`laboratory::check`].
#[unsafe(no_mangle)]
extern "C" fn check(address: *mut u8, length: usize) -> usize {
    keep(json_of(address, length).and_then(|request| laboratory::check(&request)))
}

/// [`Laboratory::begin`].
#[unsafe(no_mangle)]
extern "C" fn begin(address: *mut u8, length: usize) -> usize {
    let request = json_of(address, length);
    keep(request.and_then(|request| LABORATORY.with_borrow_mut(|lab| lab.begin(&request))))
}

/// [`Laboratory::proceed`].
#[unsafe(no_mangle)]
extern "C" fn proceed(run: u32) -> usize {
    keep(LABORATORY.with_borrow_mut(|lab| lab.proceed(run)))
}

/// [`Laboratory::tables`].
#[unsafe(no_mangle)]
extern "C" fn tables(run: u32) -> usize {
    keep(LABORATORY.with_borrow(|lab| lab.tables(run)))
}

/// The columns of a table: name, type (`f8`, `i8` or `str`), address and number of rows; of words,
/// the rows are 32-bit indices, and the words follow.
#[unsafe(no_mangle)]
extern "C" fn columns(run: u32, address: *mut u8, length: usize) -> usize {
    let name = request(address, length);
    let name = String::from_utf8_lossy(&name);
    keep(LABORATORY.with_borrow(|lab| {
        let table = lab.table(run, &name);
        table.map(views).ok_or_else(|| unknown("a table"))
    }))
}

fn views(Table(columns): &Table) -> Value {
    let view = |(name, column): &(&str, Column)| match column {
        Column::Number(rows) => json!([name, "f8", rows.as_ptr() as usize, rows.len()]),
        Column::Integer(rows) => json!([name, "i8", rows.as_ptr() as usize, rows.len()]),
        Column::Text(words) => {
            let rows = &words.indices;
            json!([
                name,
                "str",
                rows.as_ptr() as usize,
                rows.len(),
                words.values
            ])
        }
    };
    columns.iter().map(view).collect()
}

/// [`Laboratory::cancel`].
#[unsafe(no_mangle)]
extern "C" fn cancel(run: u32) {
    LABORATORY.with_borrow_mut(|lab| lab.cancel(run));
}
