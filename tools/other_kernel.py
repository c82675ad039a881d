"""Runs the controls that come with ackclock in another kernel, and gives their calls to the engine.

Needs `make build kernel`, and packages of Debian or Ubuntu: qemu-system-x86, busybox-static and
iproute2. It needs no root.

    dpkg-deb -x linux-image-6.12*.deb out/kernel
    .venv/bin/python tools/other_kernel.py out/kernel out/other-kernel

The first folder has a kernel's `boot/vmlinuz-*` and `lib/modules`. The kernel boots in a processor
that QEMU computes. Time passes there by instructions, two nanoseconds each, so that a busy machine
delays nothing. The guest sees this machine's files, and can write into the second folder only.

The guest loads each object, sends data over its loopback device, where netem delays and loses
packets, and records the calls. On this machine the engine then answers them.

Exits with 4 if a call is answered otherwise or was not recorded, with 77 if this machine lacks
something, and with 3 if the other kernel does not take a control. Then it says why.
"""

import argparse
import gzip
import json
import lzma
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ackclock.capture import calls
from ackclock.run.host import loader

ROOT = Path(__file__).parents[1]
OBJECTS = ROOT / "crates" / "ackclock-core" / "bpf"
QEMU = "qemu-system-x86_64"

#: What the guest needs to see this machine's files, to delay and lose packets, and its own bbr.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "sch_netem", "tcp_bbr")
# Seconds that the guest may take. With a processor to itself it takes a minute.
PATIENCE_S = 1800
# Exit codes: the other kernel takes no control; a call differs; this machine lacks something.
REFUSED, DIFFERS, LACKING = 3, 4, 77

# The tree of this machine is read-only; what programs write goes to memory or to the shared folder.
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
for module in {modules}; do /bin/busybox insmod /modules/$module.ko; done
options=trans=virtio,version=9p2000.L,msize=262144
/bin/busybox mount -t 9p -o ro,cache=loose,$options machine /machine
cd /machine
/bin/busybox mount -t proc proc proc
/bin/busybox mount -t sysfs sys sys
/bin/busybox mount -t devtmpfs dev dev
/bin/busybox mount -t tmpfs run run
/bin/busybox mkdir run/out
/bin/busybox mount -t 9p -o $options out run/out
/bin/busybox chroot . {busybox} sh /run/out/guest.sh > run/out/guest.txt 2>&1
/bin/busybox sync
/bin/busybox poweroff -f
"""

# Busybox takes its own programs for those of a bare name.
# Every socket of the guest has the control: the sender, the listener and what it accepts.
# The device carries single segments of 1448 bytes, as a link would.
GUEST = """cd /run/out
busybox uname -r > release
{ip} link set dev lo up mtu 1500 gso_max_segs 1
{tc} qdisc add dev lo root netem delay 10ms rate 10mbit loss 1% limit 60
busybox mkfifo /run/held
for control in {controls}; do
    {loader} {objects}/$control.bpf.o acc_guest $control.calls \
        < /run/held > $control.json &
    exec 3> /run/held
    until busybox test -s $control.json; do busybox sleep 0.05; done
    if busybox grep -q loaded $control.json; then
        echo acc_guest > /proc/sys/net/ipv4/tcp_congestion_control
        busybox nc -l -p 5001 -e {busybox} dd of=/dev/null bs=64k &
        until busybox netstat -ltn | busybox grep -q :5001; do busybox sleep 0.05; done
        busybox head -c {bytes} /dev/zero | busybox nc 127.0.0.1 5001 > /dev/null
    fi
    exec 3>&-
    wait
done
echo > done
"""
BYTES = 1_500_000


def main() -> int:
    """Reads the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", type=Path, help="folder with boot and lib/modules")
    parser.add_argument("out", type=Path, help="new folder for the records")
    asked = parser.parse_args()
    if asked.out.exists():
        print(f"{asked.out} exists already; name a new folder", file=sys.stderr)
        return 2
    try:
        image = only(asked.kernel, "boot/vmlinuz-*")
        modules = only(asked.kernel, "lib/modules/*")
        qemu, busybox = program(QEMU), program("busybox")
        guest = GUEST.format(
            controls=" ".join(shipped()), loader=kernel_host(), objects=OBJECTS, bytes=BYTES,
            busybox=busybox, ip=program("ip"), tc=program("tc"),
        )  # fmt: skip
        files = initramfs(modules, Path(busybox))
    except LookupError as error:
        print(error, file=sys.stderr)
        return LACKING
    asked.out.mkdir(parents=True)
    (asked.out / "guest.sh").write_text(guest, "utf-8")
    (asked.out / "initramfs").write_bytes(files)
    if not boot(qemu, image, asked.out):
        return 1
    return compare(asked.out)


def only(folder: Path, pattern: str) -> Path:
    """Returns the one path of a folder that matches."""
    paths = list(folder.glob(pattern))
    if len(paths) != 1:
        words = f"{folder} has {len(paths)} of {pattern}; unpack the package of one kernel there"
        raise LookupError(words)
    return paths[0]


def program(name: str) -> str:
    """Returns the path of a program."""
    path = shutil.which(name)
    if path is None:
        packages = "qemu-system-x86 busybox-static iproute2"
        raise LookupError(f"{name} is not installed; on Debian and Ubuntu: apt install {packages}")
    return path


def kernel_host() -> str:
    """Returns the path of the program that loads controls."""
    path = loader()
    if path is None:
        raise LookupError("ackclock-kernel-host is not installed; make kernel")
    return path


def boot(qemu: str, image: Path, out: Path) -> bool:
    """Runs the guest. Returns true if it came to its end."""
    share = "local,security_model=none,multidevs=remap,path"
    command = [
        qemu, "-machine", "pc", "-accel", "tcg", "-icount", "shift=1,sleep=off", "-cpu", "max",
        "-m", "512", "-nographic", "-no-reboot", "-net", "none", "-kernel", str(image),
        "-initrd", str(out / "initramfs"), "-append", "console=ttyS0 quiet panic=-1",
        "-virtfs", f"{share}=/,readonly=on,mount_tag=machine",
        "-virtfs", f"{share}={out.absolute()},mount_tag=out",
    ]  # fmt: skip
    with (out / "console.txt").open("wb") as console:
        try:
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, check=False,
                timeout=PATIENCE_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            print(f"the guest did not end in {PATIENCE_S} s", file=sys.stderr)
    if not (out / "done").exists():
        print(f"the guest did not come to its end; read {out / 'console.txt'}", file=sys.stderr)
        return False
    return True


def compare(out: Path) -> int:
    """Gives the recorded calls to the engine and prints a line for each control."""
    code = 0
    print(f"Linux {(out / 'release').read_text('utf-8').strip()}")
    for control in shipped():
        answers = [json.loads(line) for line in (out / f"{control}.json").open(encoding="utf-8")]
        reports = {name: value for answer in answers for name, value in answer.items()}
        if "refused" in reports:
            print(f"{control:14} {reports['refused']['reason']}")
            code = max(code, REFUSED)
            continue
        record = (out / f"{control}.calls").read_bytes()
        object_ = (OBJECTS / f"{control}.bpf.o").read_bytes()
        _, counts = calls.answered(object_, reports["loaded"]["parameters"], record)
        missed = reports["recorded"]["missed"]
        if counts["equal"] != counts["calls"] or missed or not counts["calls"]:
            code = DIFFERS
        kinds = ", ".join(f"{kind} {count}" for kind, count in counts["kinds"].items() if count)
        print(
            f"{control:14} {counts['calls']} calls, {counts['equal']} answered alike, {missed} "
            f"missed: {kinds}"
        )
    return code


def shipped() -> list[str]:
    """Returns the names of the controls that come with ackclock."""
    return sorted(path.name.removesuffix(".bpf.o") for path in OBJECTS.glob("*.bpf.o"))


def initramfs(modules: Path, busybox: Path) -> bytes:
    """Returns the first files of the guest: busybox, kernel modules, and what to start."""
    needed = list(in_order(modules))
    init = INIT.format(modules=" ".join(name for name, _ in needed), busybox=busybox)
    folders = ("bin", "proc", "machine", "modules", "dev")
    entries = [(folder, 0o40755, b"") for folder in folders]
    entries += [("bin/busybox", 0o100755, busybox.read_bytes()), ("init", 0o100755, init.encode())]
    entries += [(f"modules/{name}.ko", 0o100644, content) for name, content in needed]
    archive = b"".join(member(number, *entry) for number, entry in enumerate(entries, 1))
    return gzip.compress(archive + member(0, "TRAILER!!!", 0, b""), compresslevel=1)


def member(number: int, name: str, mode: int, content: bytes) -> bytes:
    """Returns a file of an archive in the format newc (cpio(5)), with padding to four bytes."""
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)


def in_order(modules: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the needed modules and their contents, each after those that it depends on.

    Modules that are part of the kernel's image have no file.
    """
    files = {
        path.name.partition(".")[0].replace("-", "_"): path
        for path in modules.rglob("*.ko*")
    }  # fmt: skip
    done: set[str] = set()
    waiting = [name for name in reversed(MODULES) if name in files]
    while waiting:
        name = waiting[-1]
        content = unpacked(files[name])
        missing = [other for other in depends(content) if other in files and other not in done]
        if missing and name not in done:
            waiting += missing
            continue
        waiting.pop()
        if name not in done:
            done.add(name)
            yield name, content


def depends(module: bytes) -> list[str]:
    """Returns the names of the modules that a module asks for, in its section `.modinfo`."""
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    return (
        [name.replace("-", "_") for name in match[1].decode().split(",") if name] if match else []
    )


def unpacked(file: Path) -> bytes:
    """Returns a module's content, which a package may have compressed."""
    content = file.read_bytes()
    match file.suffix:
        case ".ko":
            return content
        case ".xz":
            return lzma.decompress(content)
        case ".gz":
            return gzip.decompress(content)
        case other:
            raise LookupError(f"{file.name}: modules compressed as {other} are not read here")


if __name__ == "__main__":
    sys.exit(main())
