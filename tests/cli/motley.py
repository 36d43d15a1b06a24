"""What the tests of the command line share: where the program is, and how to run it."""

import ast
import json
import os
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["MOTLEY"]
MODELS = ROOT / "tests/data/models"
STORIES = str(MODELS / "stories260K")  # no chat template
CHAT = str(MODELS / "mlx-affine-4bit-g64")  # has one; its words are nonsense
# One thread: on a busy machine threads wait for each other, and a small model waits thousands of times.
ONE = ["--threads", "1"]
RAW = ["--raw", "--temperature", "0", *ONE]

# Far more than any of these runs takes on a busy machine; a program that waits for ever fails.
TIMEOUT_S = 120


def run(*words, stdin=subprocess.DEVNULL, text=None, env=None, **more):
    """Runs the program. `text`: what is piped into it."""
    given = {"input": text.encode()} if text is not None else {"stdin": stdin}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=TIMEOUT_S,
                          env={**os.environ, **(env or {})}, **given, **more)


def run_ok(*words, **more):
    result = run(*words, **more)
    assert result.returncode == 0, (words, result.returncode, result.stderr.decode())
    return result.stdout.decode()


def run_json(*words, **more):
    """The one object on standard output."""
    output = run_ok(*words, "--json", **more)
    assert output.endswith("\n") and output.count("\n") == 1, output
    return json.loads(output)


def read_npy(path):
    """Shape and float32 values of a .npy file, read by numpy's description of the format and not by numpy."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0 and data[9 + length:10 + length] == b"\n"
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["descr"] == "<f4" and header["fortran_order"] is False, header
    rows, columns = header["shape"]
    values = struct.unpack(f"<{rows * columns}f", data[10 + length:])
    return [values[row * columns:(row + 1) * columns] for row in range(rows)]
