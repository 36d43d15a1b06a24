"""`motley compare`: its figures against arithmetic on what `debug logits` writes, and what it says when it fails."""

import json
import math
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from motley import MODELS, ONE, PROGRAM, ROOT, STORIES, TIMEOUT_S, read_npy, run, run_json, run_ok

F16 = str(MODELS / "hf-f16")
TWO_BITS = str(MODELS / "mlx-affine-2bit-g64")
OTHER_VOCABULARY = str(MODELS / "tiny/untied-hf")
TEXT = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
        "One day, she saw a big, red ball. <s> It was very far away & high up.\n") * 2

# Both sides add up doubles of the same float32 logits; the orders of adding differ.
RELATIVE = 1e-6
# Where a figure is the difference of numbers near 1.
ABSOLUTE = 1e-12


def log_softmax(row):
    top = max(row)
    log_sum = top + math.log(math.fsum(math.exp(value - top) for value in row))
    return [value - log_sum for value in row]


def kl(a, b):
    p, q = log_softmax(a), log_softmax(b)
    return math.fsum(math.exp(x) * (x - y) for x, y in zip(p, q))


def quantile(values, share):
    """The definition of numpy.quantile's "linear"."""
    values = sorted(values)
    at = share * (len(values) - 1)
    below = math.floor(at)
    return values[below] + (at - below) * (values[min(below + 1, len(values) - 1)] - values[below])


class Expected:
    """All figures, from the logits that each side writes for each window."""

    def __init__(self, side_a, side_b, windows):
        self.rows_a = [row for window in windows for row in self.logits(side_a, window)]
        self.rows_b = [row for window in windows for row in self.logits(side_b, window)]
        self.following = [id for window in windows for id in [*window[1:], None]]
        self.kl = [kl(a, b) for a, b in zip(self.rows_a, self.rows_b)]

    @staticmethod
    def logits(side, window):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "logits.npy")
            run_ok("debug", "logits", *side, *ONE, "--ids", ",".join(map(str, window)), "--all", "--out", path)
            return read_npy(path)

    def perplexity(self, rows):
        losses = [-log_softmax(row)[id] for row, id in zip(rows, self.following) if id is not None]
        return len(losses), math.exp(math.fsum(losses) / len(losses))

    def differences(self):
        return [b - a for row_a, row_b in zip(self.rows_a, self.rows_b) for a, b in zip(row_a, row_b)]

    def range_a(self):
        return max(map(max, self.rows_a)) - min(map(min, self.rows_a))

    def top(self, rows):
        return [max(range(len(row)), key=lambda id: (row[id], -id)) for row in rows]


def ids_of(model, text, tokens):
    """The first ids of a text, without what goes before it; and that."""
    ids = json.loads(run_ok("debug", "tokens", model, text, "--no-affixes", "--special-as-text"))["ids"]
    affixed = json.loads(run_ok("debug", "tokens", model, text, "--special-as-text"))["ids"]
    return affixed[:len(affixed) - len(ids)], ids[:tokens]


class Figures(unittest.TestCase):
    def check_close(self, got, want, what):
        self.assertTrue(math.isclose(got, want, rel_tol=RELATIVE, abs_tol=ABSOLUTE), (what, got, want))

    def check(self, report, want):
        self.assertEqual(report["positions"], len(want.kl))
        figures = {"mean": math.fsum(want.kl) / len(want.kl), "median": quantile(want.kl, 0.5),
                   "p99": quantile(want.kl, 0.99), "p99_9": quantile(want.kl, 0.999), "max": max(want.kl)}
        self.assertEqual(set(report["kl_nats"]), set(figures))
        for name, value in figures.items():
            self.check_close(report["kl_nats"][name], value, name)
        self.check_perplexity(report["perplexity"], want)
        self.check_logits(report["logits"], want)
        tops = list(zip(want.top(want.rows_a), want.top(want.rows_b)))
        self.check_close(report["same_top1"], sum(a == b for a, b in tops) / len(tops), "same_top1")
        self.check_histogram(report["histogram"], want.kl)
        self.check_worst(report["worst"], want, tops)

    def check_perplexity(self, perplexity, want):
        tokens, a = want.perplexity(want.rows_a)
        _, b = want.perplexity(want.rows_b)
        self.assertEqual(perplexity["tokens"], tokens)
        for name, value in (("a", a), ("b", b), ("ratio", b / a)):
            self.check_close(perplexity[name], value, name)

    def check_logits(self, logits, want):
        differences = want.differences()
        largest = max(map(abs, differences))
        self.check_close(logits["rms_difference"],
                         math.sqrt(math.fsum(d * d for d in differences) / len(differences)), "rms")
        self.check_close(logits["largest_difference"], largest, "largest")
        self.check_close(logits["range_a"], want.range_a(), "range")
        self.check_close(logits["largest_difference_of_range"], largest / want.range_a(), "of range")

    def check_histogram(self, bins, values):
        self.assertEqual((bins[0]["from"], bins[-1]["to"]), (0, None))
        for before, after in zip(bins, bins[1:]):
            self.assertEqual(before["to"], after["from"])
        for entry in bins:
            to = math.inf if entry["to"] is None else entry["to"]
            # Independent sums may fall on the other side of an edge.
            surely = sum(entry["from"] * (1 + RELATIVE) <= value < to * (1 - RELATIVE) for value in values)
            perhaps = sum(entry["from"] * (1 - RELATIVE) <= value < to * (1 + RELATIVE) for value in values)
            self.assertTrue(surely <= entry["count"] <= perhaps, entry)
        self.assertEqual(sum(entry["count"] for entry in bins), len(values))

    def check_worst(self, worst, want, tops):
        order = sorted(range(len(want.kl)), key=lambda position: -want.kl[position])
        self.assertEqual([entry["position"] for entry in worst], order[:5])
        for entry in worst:
            at = entry["position"]
            self.check_close(entry["kl_nats"], want.kl[at], at)
            self.assertEqual((entry["top_a"]["id"], entry["top_b"]["id"]), tops[at])
            self.check_close(entry["top_b"]["probability"], math.exp(max(log_softmax(want.rows_b[at]))), at)
            self.assertEqual((entry["next"] or {}).get("id"), want.following[at])

    def test_two_checkpoints_of_one_network(self):
        prefix, ids = ids_of(F16, TEXT, 60)
        report = run_json("compare", F16, TWO_BITS, *ONE, "--text", "-", "--tokens", 60, text=TEXT)
        self.assertEqual((report["tokens"], report["windows"]), (60, 1))
        self.check(report, Expected([F16], [TWO_BITS], [prefix + ids]))

    def test_one_checkpoint_under_two_settings_in_windows_that_begin_anew(self):
        prefix, ids = ids_of(STORIES, TEXT, 40)
        self.assertEqual(prefix, [1])  # BOS
        windows = [prefix + ids[begin:begin + 15] for begin in (0, 15, 30)]
        report = run_json("compare", STORIES, *ONE, "--text", "-", "--tokens", 40, "--window", 15,
                          "--override-b", "rope_theta=20000", "--precision", "exact", text=TEXT)
        self.assertEqual((report["tokens"], report["windows"], report["positions"]), (40, 3, 43))
        exact = [STORIES, "--precision", "exact"]
        self.check(report, Expected(exact, [*exact, "--override", "rope_theta=20000"], windows))

    def test_ids_are_taken_as_they_are(self):
        report = run_json("compare", STORIES, *ONE, "--ids", "9,8,7,6,5,4", "--tokens", 5,
                          "--precision-a", "exact", "--precision-b", "fast")
        self.check(report, Expected([STORIES, "--precision", "exact"], [STORIES, "--precision", "fast"],
                                    [[9, 8, 7, 6, 5]]))
        self.assertEqual((report["a"]["precision"], report["b"]["precision"]), ("exact", "fast"))

    def test_rounding_of_activations_shows_as_a_small_kl(self):
        mean = run_json("compare", STORIES, *ONE, "--precision-a", "exact", "--tokens", 50)["kl_nats"]["mean"]
        self.assertTrue(0 < mean < 1e-4, mean)

    def test_a_checkpoint_is_not_different_from_itself(self):
        report = run_json("compare", F16, F16, *ONE, "--tokens", 40)
        self.assertEqual(set(report["kl_nats"].values()), {0})
        self.assertEqual((report["same_top1"], report["perplexity"]["ratio"]), (1, 1))
        self.assertEqual(report["logits"]["largest_difference"], 0)
        self.assertEqual(report["histogram"][0]["count"], report["positions"])

    def test_instruction_sets_give_the_same_bits(self):
        report = run_json("compare", STORIES, *ONE, "--instruction-set-b", "scalar", "--tokens", 20)
        self.assertIn("scalar", report["b"]["device"])
        self.assertEqual(report["logits"]["largest_difference"], 0)


class Texts(unittest.TestCase):
    def test_the_built_in_text_is_there_from_anywhere(self):
        report = run_json("compare", F16, TWO_BITS, *ONE, cwd="/")
        self.assertEqual((report["tokens"], report["windows"]), (512, 1))
        alice = (ROOT / "src/app/data/alice.txt").read_text()
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(alice)
            file.flush()
            by_file = run_json("compare", F16, TWO_BITS, *ONE, "--text", file.name)
        self.assertEqual(by_file["kl_nats"], report["kl_nats"])

    def test_all_of_the_built_in_text_is_there(self):
        alice = (ROOT / "src/app/data/alice.txt").read_text()
        _, ids = ids_of(STORIES, alice, None)
        report = run_json("compare", STORIES, *ONE, "--precision-b", "exact", "--tokens", 10**9, "--window", 64)
        self.assertEqual(report["tokens"], len(ids))

    def test_a_checkpoint_without_a_tokenizer_uses_the_others(self):
        with tempfile.TemporaryDirectory() as bare:
            for name in ("config.json", "model.safetensors"):
                shutil.copy(pathlib.Path(F16, name), bare)
            for sides in ([bare, TWO_BITS], [TWO_BITS, bare]):
                with_one = [F16 if side == bare else side for side in sides]
                report = run_json("compare", *sides, *ONE, "--tokens", 20)
                self.assertEqual(report["kl_nats"], run_json("compare", *with_one, *ONE, "--tokens", 20)["kl_nats"])
                self.assertIsNotNone(report["worst"][0]["text_before"])
            alone = run("compare", bare, bare)
            self.assertEqual((alone.returncode, alone.stderr.count(b"\n")), (1, 1))
            self.assertIn(b"tokenizer", alone.stderr)
            report = run_json("compare", bare, TWO_BITS, *ONE, "--ids", "1,2,3")
            self.assertEqual(report["positions"], 3)

    def test_worst_positions_show_the_text_around_them(self):
        report = run_json("compare", F16, TWO_BITS, *ONE, "--text", "-", "--tokens", 30, text=TEXT)
        decoded = TEXT.replace("\n", " ")
        for entry in report["worst"]:
            self.assertIn(entry["text_before"].replace("\n", " "), decoded)
            if entry["next"]:
                self.assertIn(entry["text_before"] + entry["next"]["token"], TEXT)


class Refusals(unittest.TestCase):
    def check_line(self, code, *words, **more):
        result = run("compare", *words, **more)
        self.assertEqual((result.returncode, result.stdout), (code, b""), (words, result.stderr))
        self.assertRegex(result.stderr.decode(), r"^motley: [^\n]*\n$")
        return result.stderr.decode()

    def test_a_wrong_command_line_exits_with_2(self):
        for words in ([], [STORIES], [STORIES, "--precision-b", "fast"], [STORIES, STORIES, "--tokens", "0"],
                      [STORIES, STORIES, "--window", "0"], [STORIES, STORIES, "--fail-above", "-1"],
                      [STORIES, STORIES, "--fail-above", "nan"], [STORIES, STORIES, "--text", "x", "--ids", "1"],
                      [STORIES, STORIES, "--precision-a", "rough"], [STORIES, STORIES, STORIES]):
            self.check_line(2, *words)

    def test_vocabularies_of_two_sizes(self):
        size = run_json("inspect", OTHER_VOCABULARY)["spec"]["vocabulary"]
        self.assertNotEqual(size, 512)
        line = self.check_line(1, STORIES, OTHER_VOCABULARY)
        self.assertIn("512", line)
        self.assertIn(str(size), line)

    def test_tokenizers_that_do_not_agree(self):
        self.assertIn(F16, self.check_line(1, STORIES, F16))

    def test_what_cannot_be_computed(self):
        self.assertIn("9999", self.check_line(1, STORIES, STORIES, "--ids", "1,9999"))
        self.assertIn("--window", self.check_line(1, STORIES, STORIES, "--window", "100000"))
        self.assertIn("nonesuch.txt", self.check_line(1, STORIES, STORIES, "--text", "nonesuch.txt"))
        self.assertIn("token", self.check_line(1, STORIES, STORIES, "--text", "-", text=""))
        self.assertIn("scalar", self.check_line(1, STORIES, "--instruction-set-b", "nonesuch"))
        self.assertIn("UTF-8", self.check_line(1, STORIES, STORIES, "--text", PROGRAM))

    def test_a_mean_above_the_limit_fails_after_the_report(self):
        words = ["compare", F16, TWO_BITS, *ONE, "--tokens", 40, "--json"]
        mean = json.loads(run_ok(*words))["kl_nats"]["mean"]
        self.assertEqual(json.loads(run_ok(*words, "--fail-above", mean * 1.01))["kl_nats"]["mean"], mean)
        above = run(*words, "--fail-above", mean * 0.99)
        self.assertEqual(above.returncode, 1)
        self.assertEqual(json.loads(above.stdout)["kl_nats"]["mean"], mean)
        self.assertRegex(above.stderr.decode(), r"^motley: mean KL: [^\n]*\n$")


class Shown(unittest.TestCase):
    def test_the_report_for_people_has_the_figures(self):
        words = ["compare", F16, TWO_BITS, *ONE, "--tokens", 40]
        text, report = run_ok(*words), json.loads(run_ok(*words, "--json"))
        for fact in (F16, TWO_BITS, "40 tokens in 1 window", f"mean {report['kl_nats']['mean']:.3g} nats",
                     f"A {report['perplexity']['a']:.4f}", "same top-1", "█", "A says"):
            self.assertIn(fact, text)
        counts = [int(count) for count in re.findall(r"^  \S.*  +(\d+) █*$", text, re.MULTILINE)]
        self.assertEqual(sum(counts), report["positions"])

    def plot(self, folder, *words):
        path = pathlib.Path(folder, "kl.svg")
        run_ok("compare", *words, *ONE, "--plot", path)
        self.assertEqual(os.listdir(folder), ["kl.svg"])
        text = path.read_text()
        self.assertNotIn("href", text)
        return xml.etree.ElementTree.fromstring(text)

    def test_the_plot_is_one_svg_file_with_every_position(self):
        name = "{http://www.w3.org/2000/svg}"
        with tempfile.TemporaryDirectory() as folder:
            for words in ([F16, TWO_BITS, "--tokens", 40], [F16, F16, "--tokens", 40],
                          [STORIES, STORIES, "--ids", "1"]):
                svg = self.plot(folder, *words)
                self.assertEqual(svg.tag, name + "svg")
                positions = 1 if "--ids" in words else 40
                self.assertEqual(svg.find(name + "path").get("d").count("M"), positions + ids_before(words))
                self.assertNotIn("nan", xml.etree.ElementTree.tostring(svg, encoding="unicode"))

    def test_nothing_is_left_of_a_plot_that_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            failed = run("compare", STORIES, STORIES, "--ids", "9999", "--plot", folder + "/kl.svg")
            self.assertEqual((failed.returncode, os.listdir(folder)), (1, []))
            missing = run("compare", STORIES, STORIES, "--plot", folder + "/no/kl.svg")
            self.assertEqual((missing.returncode, missing.stdout), (1, b""))

    def on_terminal(self, *words, interrupt_at=None):
        """Standard output, what a terminal as standard error was sent, and the exit status. `interrupt_at`: Ctrl-C once
        this has appeared there."""
        reader, writer = pty.openpty()
        process = subprocess.Popen([PROGRAM, "compare", *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=writer)
        os.close(writer)
        shown = b""
        while True:
            try:
                piece = os.read(reader, 65536)
            except OSError:  # Linux says so when the program has ended
                break
            shown += piece
            if interrupt_at and interrupt_at in shown:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
        os.close(reader)
        return process.communicate(timeout=TIMEOUT_S)[0], shown.decode(), process.returncode

    def test_progress_is_shown_on_a_terminal_only_and_taken_away(self):
        output, shown, code = self.on_terminal(F16, TWO_BITS, *ONE, "--tokens", 130, "--json")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(output)["tokens"], 130)
        self.assertRegex(shown, r"64/130 tokens, [0-9.]+ tokens/s, \d+:\d\d left")
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)
        self.assertEqual(run("compare", F16, TWO_BITS, *ONE, "--tokens", 130).stderr, b"")

    def test_control_c_ends_it_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            # Minutes of work, so that it is not over before.
            words = [STORIES, STORIES, *ONE, "--instruction-set", "scalar", "--tokens", 9999]
            output, shown, code = self.on_terminal(*words, "--plot", folder + "/kl.svg", interrupt_at=b"tokens/s")
            self.assertEqual((output, code, os.listdir(folder)), (b"", 130, []))
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)


def ids_before(words):
    """How many ids the checkpoint puts before a text."""
    return 0 if "--ids" in words else len(ids_of(words[0], TEXT, 1)[0])


if __name__ == "__main__":
    unittest.main()
