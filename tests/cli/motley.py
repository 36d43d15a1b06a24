"""What the tests of the command line share: where the program is, and how to run it."""

import json
import os
import pathlib
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
