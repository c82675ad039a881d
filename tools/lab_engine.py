"""Builds the engine of lab pages, and says whether the one in place is of the present sources.

The module carries the digest of the sources in a custom section `ackclock`.

Usage:

    python tools/lab_engine.py           # builds python/ackclock/laboratory/static/engine.wasm
    python tools/lab_engine.py --check   # exits with 1 if missing or stale
    python tools/lab_engine.py --clean   # removes a stale one
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "python/ackclock/laboratory/static/engine.wasm"
TARGET = "wasm32-unknown-unknown"
CRATES = ("ackclock-spec", "ackclock-core", "ackclock-scenario", "ackclock-sim", "ackclock-lab")
# A page must not take the machine: allocation beyond this fails.
MOST_MEMORY = 512 << 20


def sources_digest() -> str:
    """Returns the SHA-256 digest of the engine's sources: paths and contents, without tests.

    The workspace's `Cargo.toml` has the version that the engine tells, and its build profile.
    """
    digest = hashlib.sha256()
    for path in [ROOT / "Cargo.toml", *(source for crate in CRATES for source in _sources(crate))]:
        name = path.relative_to(ROOT).as_posix()
        digest.update(f"{name}\0{len(path.read_bytes())}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(crate: str) -> list[Path]:
    folder = ROOT / "crates" / crate
    files = [folder / "Cargo.toml", *sorted((folder / "src").rglob("*.rs"))]
    return [path for path in files if "tests" not in path.stem]


def staleness() -> str:
    """Returns why the module in place cannot be relied on; empty if it can."""
    if not MODULE.exists():
        return f"{MODULE.relative_to(ROOT)} is missing: make lab"
    if not MODULE.read_bytes().endswith(_section("ackclock", sources_digest().encode())):
        return f"{MODULE.relative_to(ROOT)} is stale, its sources have changed since: make lab"
    return ""


def lacking() -> str:
    """Returns what this machine lacks to build the module; empty if it can."""
    if shutil.which("cargo") is None:
        return "cargo not found; install Rust, for example from https://rustup.rs"
    asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
    answer = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if not any(Path(answer.stdout.strip() or "absent").glob("libcore-*.rlib")):
        return f"Rust's standard library for {TARGET} not found: rustup target add {TARGET}"
    return ""


def build() -> None:
    """Builds the module and puts it in its place, whole or not at all."""
    digest = sources_digest()
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry/src"
    flags = [
        f"-Clink-arg=--max-memory={MOST_MEMORY}",
        f"--remap-path-prefix={registry}=registry",
        f"--remap-path-prefix={ROOT}=ackclock",
    ]
    command = ["cargo", "build", "--locked", "--package", "ackclock-lab", "--lib"]
    subprocess.run(
        [*command, "--profile", "lab", "--target", TARGET],
        cwd=ROOT,
        env=os.environ | {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)},
        check=True,
    )
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = (folder / TARGET / "lab/ackclock_lab.wasm").read_bytes()
    aside = MODULE.with_name(f".{MODULE.name}")
    aside.write_bytes(built + _section("ackclock", digest.encode()))
    aside.replace(MODULE)


def _section(name: str, content: bytes) -> bytes:
    """Returns a custom section of a WebAssembly module; its parts are shorter than 128 bytes."""
    body = bytes([len(name)]) + name.encode() + content
    return bytes([0, len(body)]) + body


def clean() -> None:
    """Removes a stale module: a page must not run another engine than Python does."""
    if MODULE.exists() and staleness():
        MODULE.unlink()
        print("the engine of lab pages was of older sources and is removed: make lab")


def main(arguments: list[str]) -> int:
    """Builds, checks or cleans; returns 1 if that fails, with a line that says why."""
    why = ""
    if "--check" in arguments:
        why = staleness()
    elif "--clean" in arguments:
        clean()
    else:
        why = lacking()
        if not why:
            build()
    if why:
        print(why, file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
