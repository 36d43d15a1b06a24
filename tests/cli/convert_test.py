"""`motley convert`: what it writes is read again, by motley and by a few lines of Python, and computes the same."""

import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import tempfile
import unittest

from motley import MODELS, ONE, PROGRAM, STORIES, TIMEOUT_S, read_npy, run, run_json, run_ok

TINY = MODELS / "tiny"
IDS = ",".join(str(3 + 7 * i % 90) for i in range(48))
# Exact arithmetic of the same numbers: only rows of Q and K have changed places, so that sums differ in nothing but the
# order of a head's products.
SAME = 1e-5
# A wrong permutation is seen from the second position; measured 0.4 of the range and more.
SEEN = 0.02


def safetensors(folder):
    """Bytes of each tensor with dtype and shape, as the format's description has them."""
    tensors = {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        data = path.read_bytes()
        length, = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8:8 + length]).items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["dtype"], entry["shape"], data[8 + length + begin:8 + length + end])
    return tensors


def logits(model, *words):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "logits.npy")
        run_ok("debug", "logits", model, *ONE, "--precision", "exact", "--ids", IDS, "--all", "--out", path, *words)
        return read_npy(path)


def furthest(a, b):
    """The largest difference, of the range of a."""
    flat_a, flat_b = [x for row in a for x in row], [x for row in b for x in row]
    assert len(flat_a) == len(flat_b)
    return max(abs(x - y) for x, y in zip(flat_a, flat_b)) / (max(flat_a) - min(flat_a))


def half_split(rows, row_bytes, head_rows):
    """Rows whose pairs lie side by side in each head, with the first ones of all pairs before the second ones."""
    order = [2 * i + second for second in (0, 1) for i in range(head_rows // 2)]
    heads = range(0, len(rows) // row_bytes, head_rows)
    return b"".join(rows[(head + i) * row_bytes:(head + i + 1) * row_bytes] for head in heads for i in order)


class Conversion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def convert(self, source, name, to, *words):
        target = self.folder / name
        return str(target), run_json("convert", source, target, "--to", to, *ONE, *words)

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    def refused(self, *words):
        before = self.left()
        result = run("convert", *words, *ONE)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(self.left(), before)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]


class RowsOfQAndK(Conversion):
    def test_hugging_face_to_llama2c_and_back_is_the_same_bytes(self):
        for name in ("rope-equal-kv", "rope-grouped-kv", "rope-one-kv", "untied"):
            source = TINY / f"{name}-hf"
            force = ["--force"] if name == "untied" else []
            bin_folder, there = self.convert(source, f"{name}-bin", "llama2c", *force)
            self.assertTrue(there["summary"]["exact"])
            overrides = [word for note in there["notes"] if "--override" in note
                         for word in ("--override", note.split()[-1])]
            self.assertEqual(len(overrides), 4 if name == "untied" else 0, there["notes"])
            back, again = self.convert(bin_folder, f"{name}-back", "hf", "--dtype", "f16" if name == "untied" else "f32",
                                       *overrides)
            self.assertTrue(again["summary"]["exact"])
            self.assertTrue(safetensors(back) == safetensors(source), name)

    def test_logits_stay_and_a_wrong_rotation_would_be_seen(self):
        for name in ("rope-equal-kv", "rope-grouped-kv", "rope-one-kv"):
            want = logits(TINY / f"{name}-hf")
            for to, other in (("llama2c", "half-split"), ("gguf", "half-split")):
                target, _ = self.convert(TINY / f"{name}-hf", f"{name}.{to}", to)
                self.assertLess(furthest(want, logits(target)), SAME, (name, to))
                self.assertGreater(furthest(want, logits(target, "--override", f"rope_pairs={other}")), SEEN)

    def test_a_wrong_order_of_q_or_of_k_or_of_the_wrong_heads_is_seen(self):
        source = TINY / "rope-grouped-kv-hf"
        target, _ = self.convert(source, "llama2c", "llama2c")
        model, want = pathlib.Path(target) / "model.bin", logits(source)
        good = model.read_bytes()
        dim, _, layers, heads, kv_heads, vocabulary, _ = struct.unpack("<7i", good[:28])
        self.assertNotEqual(heads, kv_heads)
        self.assertLessEqual(furthest(want, logits(target)), SAME)
        kv_rows = dim // heads * kv_heads
        wq = 28 + 4 * (abs(vocabulary) * dim + layers * dim)
        wk = wq + 4 * layers * dim * dim
        for begin, rows, of_heads in ((wq, dim, heads), (wk, kv_rows, kv_heads), (wk, kv_rows, heads)):
            bent = bytearray(good)
            for layer in range(layers):
                at = begin + 4 * layer * rows * dim
                bent[at:at + 4 * rows * dim] = half_split(good[at:at + 4 * rows * dim], 4 * dim, rows // of_heads)
            model.write_bytes(bent)
            self.assertGreater(furthest(want, logits(target)), SEEN, (begin, of_heads))

    def test_other_directions(self):
        for source in ("rope-grouped-kv-gguf", "rope-one-kv-llama2c", "bias-gguf", "wide-heads-gguf", "llama3-scaling-gguf",
                       "linear-scaling-gguf", "yarn-scaling-gguf"):
            target, report = self.convert(TINY / source, source, "hf", "--dtype", "f32")
            self.assertTrue(report["summary"]["exact"], source)
            self.assertLess(furthest(logits(TINY / source), logits(target)), SAME, source)
        for source in ("bias-hf", "wide-heads-hf", "llama3-scaling-hf", "linear-scaling-hf", "yarn-scaling-hf",
                       "odd-sizes-hf", "sharded-hf"):
            target, report = self.convert(TINY / source, source + ".gguf", "gguf")
            self.assertTrue(report["summary"]["exact"], source)
            self.assertLess(furthest(logits(TINY / source), logits(target)), SAME, source)

    def test_a_window_stays(self):
        target, report = self.convert(TINY / "mistral-window-hf", "window", "hf")
        self.assertTrue(report["summary"]["exact"])
        self.assertEqual(json.loads(pathlib.Path(target, "config.json").read_text())["model_type"], "mistral")
        self.assertLess(furthest(logits(TINY / "mistral-window-hf"), logits(target)), SAME)


class Packed(Conversion):
    def test_blocks_are_carried_to_mlx(self):
        for name in ("gguf-Q4_0", "gguf-Q4_1", "gguf-Q8_0"):
            target, report = self.convert(MODELS / name, name, "mlx", "--dtype", "f32", "--module", "model.embed_tokens=f32")
            self.assertTrue(report["summary"]["exact"], [t for t in report["tensors"] if not t["exact"]])
            self.assertIn("quantization", json.loads(pathlib.Path(target, "config.json").read_text()))
            self.assertLess(furthest(logits(MODELS / name), logits(target)), SAME, name)

    def test_mlx_stays_mlx(self):
        target, report = self.convert(MODELS / "mlx-affine-4bit-g64", "again", "mlx")
        self.assertTrue(report["summary"]["exact"])
        want = safetensors(MODELS / "mlx-affine-4bit-g64")
        self.assertEqual(safetensors(target), want)

    def test_integers_of_four_bits_are_carried_to_gptq(self):
        target, report = self.convert(MODELS / "gguf-Q4_0", "gptq", "gptq", "--dtype", "f32")
        self.assertTrue(report["summary"]["exact"], [t for t in report["tensors"] if not t["exact"]])
        config = json.loads(pathlib.Path(target, "config.json").read_text())["quantization_config"]
        self.assertEqual((config["bits"], config["group_size"], config["sym"]), (4, 32, True))
        self.assertLess(furthest(logits(MODELS / "gguf-Q4_0"), logits(target)), SAME)

    def test_integers_of_mlx_become_blocks(self):
        target, report = self.convert(MODELS / "mlx-affine-4bit-g64", "blocks.gguf", "gguf")
        self.assertTrue(report["summary"]["exact"])
        self.assertEqual({tensor["to"] for tensor in report["tensors"]}, {"Q4_1", "f32"})
        self.assertLess(furthest(logits(MODELS / "mlx-affine-4bit-g64"), logits(target)), SAME)

    def test_blocks_of_one_type_stay_in_gguf(self):
        target, report = self.convert(MODELS / "gguf-Q4_K_M", "again.gguf", "gguf")
        self.assertTrue(report["summary"]["exact"])
        self.assertEqual(furthest(logits(MODELS / "gguf-Q4_K_M"), logits(target)), 0)

    def test_every_type_of_gguf(self):
        want = logits(MODELS / "hf-f16")
        # Measured 0, 0, 0.002, 0.003, 0.02, 0.1, 0.1 and 0.1.
        for kind, bound in (("F32", SAME), ("F16", SAME), ("BF16", 0.02), ("Q8_0", 0.02), ("Q6_K", 0.05), ("Q4_K", 0.3),
                            ("Q4_0", 0.3), ("Q4_1", 0.3)):
            target, _ = self.convert(MODELS / "hf-f16", kind + ".gguf", "gguf", "--type", kind)
            self.assertLess(furthest(want, logits(target)), bound, kind)


class Text(Conversion):
    PROMPT = "Once upon a time, there was 1 café.\n"

    def ids(self, model):
        return json.loads(run_ok("debug", "tokens", model, self.PROMPT))["ids"]

    def test_ids_stay(self):
        for source, to in ((STORIES, "hf"), (STORIES, "gguf"), (MODELS / "hf-f16", "gguf"), (MODELS / "gguf-Q4_0", "hf"),
                           (MODELS / "hf-f16", "mlx"), (STORIES, "llama2c")):
            target, _ = self.convert(source, f"text-{to}-{pathlib.Path(source).name}", to)
            self.assertEqual(self.ids(target), self.ids(source), (source, to))

    def test_sentence_piece_goes_through_hugging_face(self):
        hf, _ = self.convert(STORIES, "hf", "hf")
        for to in ("llama2c", "gguf"):
            target, _ = self.convert(hf, f"again-{to}", to)
            self.assertEqual(self.ids(target), self.ids(STORIES), to)

    def test_llama2c_stays_llama2c(self):
        again, report = self.convert(STORIES, "bin", "llama2c")
        self.assertTrue(report["summary"]["exact"])
        stored = pathlib.Path(STORIES, "stories260K.bin").read_bytes()
        written = pathlib.Path(again, "model.bin").read_bytes()
        # The tables of cosines at the end may differ in their last bits, which no reader looks at.
        dim, _, _, heads, _, _, positions = struct.unpack("<7i", stored[:28])
        tables = 4 * positions * (dim // heads)
        self.assertEqual(len(written), len(stored))
        self.assertTrue(written[:-tables] == stored[:-tables])
        self.assertEqual(pathlib.Path(again, "tokenizer.bin").read_bytes(),
                         pathlib.Path(STORIES, "tok512.bin").read_bytes())


class Refusals(Conversion):
    def test_what_is_there_stays(self):
        target, _ = self.convert(TINY / "untied-hf", "out", "hf")
        before = safetensors(target)
        line = self.refused(TINY / "rope-one-kv-hf", target, "--to", "hf")
        self.assertIn("--overwrite", line)
        self.assertEqual(safetensors(target), before)
        self.convert(TINY / "rope-one-kv-hf", "out", "hf", "--overwrite")
        self.assertNotEqual(safetensors(target), before)
        self.assertEqual(self.left(), ["out"])

    def test_constants_of_llama2c(self):
        line = self.refused(MODELS / "hf-f16", self.folder / "out", "--to", "llama2c")
        self.assertIn("rope_theta 10000", line)
        line = self.refused(TINY / "bias-hf", self.folder / "out", "--to", "llama2c", "--force")
        self.assertIn("biases", line)

    def test_sizes_that_do_not_divide(self):
        line = self.refused(TINY / "odd-sizes-hf", self.folder / "out.gguf", "--to", "gguf", "--type", "Q8_0")
        self.assertIn("token_embd.weight", line)
        self.convert(TINY / "odd-sizes-hf", "out.gguf", "gguf", "--type", "Q8_0", "--fallback", "F16")
        self.assertIn("groups of 64", self.refused(TINY / "odd-sizes-hf", self.folder / "mlx", "--to", "mlx"))

    def test_exact_or_nothing(self):
        line = self.refused(MODELS / "hf-f16", self.folder / "out.gguf", "--to", "gguf", "--type", "Q4_0", "--require-exact")
        self.assertIn("--require-exact", line)
        line = self.refused(MODELS / "hf-f16", self.folder / "out", "--to", "gptq")
        self.assertIn("4 bits", line)

    def test_wrong_words(self):
        for words in (["--to", "onnx"], ["--to", "hf", "--bits", "4"], ["--to", "hf", "--dtype", "f8"],
                      ["--to", "hf", "--shard-size", "much"], ["--to", "mlx", "--module", "x"]):
            self.refused(TINY / "untied-hf", self.folder / "out", *words)

    def test_shards_and_their_index(self):
        target, report = self.convert(MODELS / "hf-f16", "out", "hf", "--shard-size", "500KB")
        self.assertGreater(len([name for name in report["files"] if name.endswith(".safetensors")]), 2)
        self.assertEqual(safetensors(target), safetensors(MODELS / "hf-f16"))
        self.assertEqual(logits(target), logits(MODELS / "hf-f16"))

    def test_a_full_disk_leaves_nothing(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        for to, name in (("hf", "out"), ("gguf", "out.gguf")):
            result = subprocess.run([PROGRAM, "convert", str(MODELS / "hf-f16"), str(self.folder / name), "--to", to],
                                    capture_output=True, timeout=TIMEOUT_S, preexec_fn=limit)
            self.assertEqual(result.returncode, 1, result)
            self.assertIn(b"cannot write", result.stderr)
            self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
