"""Bytes that are not UTF-8, byte order marks and texts of any length, at every border of the node."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Node, check, main  # pylint: disable=wrong-import-position


def write(folder, content):
    os.makedirs(folder)
    with open(os.path.join(folder, b"manifest.textproto" if isinstance(folder, bytes) else "manifest.textproto"),
              "wb") as manifest:
        manifest.write(content)


def kernels(node):
    """A sound kernel beside what editors and disks make of others."""
    node.add_kernel("gemm_f32")
    manifest = (node.kernels / "gemm_f32" / "manifest.textproto").read_bytes()
    write(node.kernels / "latin1", manifest.replace(b'name: "gemm_f32"', b'name: "gemm_\xe9"', 1))
    write(node.kernels / "utf16", manifest.decode().encode("utf-16"))
    write(node.kernels / "nul", b"\0" * 4096)
    write(os.fsencode(node.kernels) + b"/d\xe9j\xe0", b'name: "a"\n')
    write(node.kernels / "long", b"unknown_field: 1\n" * 20000)
    bom = node.kernels / "bom"
    subprocess.run(["cp", "-r", node.kernels / "gemm_f32", bom], check=True)
    (bom / "manifest.textproto").write_bytes(b"\xef\xbb\xbf" + manifest.replace(b'name: "gemm_f32"', b'name: "gemm_bom"', 1))


def scenario():
    with Node() as node:
        kernels(node)
        node.start_daemon()
        listed = node.cli("kernels", "list", "--json")
        check(listed.returncode == 0, f"kernels are listed {listed.stderr.strip()[-300:]}")
        for name in ("gemm_f32", "gemm_bom"):
            decided = node.cli("resolve", name, "m=64", "n=64", "k=64")
            check(decided.returncode == 0, f"{name} is decided {decided.stderr.strip()[-300:]}")
        text = node.cli("kernels", "list")
        check(r"d\xe9j\xe0" in text.stdout, "a folder in another encoding is listed, escaped")
        check(text.stdout.count("is not UTF-8") == 2, "foreign manifests are refused with the reason")

        for arguments in (["resolve", b"caf\xe9", b"m=1"], ["reprofile", b"--kernel", b"caf\xe9"],
                          ["tables", "show", b"caf\xe9"], ["resolve", "g" * 100000, "m=1"]):
            failed = subprocess.run([BIN / "wavetune", *arguments], capture_output=True, timeout=60, check=False,
                                    env={**os.environ, "WAVETUNE_ENDPOINT": node.socket(), "WAVETUNE_CACHE_DIR": ""})
            said = failed.stderr.decode("utf-8")  # Raises where it is not.
            name = arguments[1] if isinstance(arguments[1], str) else arguments[1].decode("latin-1")
            check(failed.returncode != 0 and len(said.strip()) > len("wavetune: "),
                  f"an error is said of {name[:20]!r}: {said.strip()[:90]!r}")
            check("metadata" not in said, "and it is not gRPC's")
        check(r"caf\xe9" in said or "ggg" in said, "what was asked for is named")
        check(node.cli("status").returncode == 0, "the daemon serves on")
        check(len(node.log()) < 200_000, f"the log stays small: {len(node.log())} bytes")


main(scenario)
