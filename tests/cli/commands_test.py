"""The other commands: inspect, bench, debug, completion; and what every command says when it is called wrongly."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from motley import CHAT, MODELS, ONE, ROOT, STORIES, read_npy, run, run_json, run_ok

REFERENCE = ROOT / "tests/data/reference"


class Usage(unittest.TestCase):
    def check_line(self, code, *words, **more):
        result = run(*words, **more)
        self.assertEqual(result.returncode, code, (words, result.stderr))
        self.assertEqual(result.stdout, b"", words)
        self.assertTrue(result.stderr.startswith(b"motley: "), result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        return result.stderr.decode()

    def test_a_wrong_command_line_exits_with_2(self):
        for words in ([], ["nonesuch"], ["run"], ["run", STORIES, "--nonesuch"], ["run", STORIES, "a", "b"],
                      ["run", STORIES, "a", "-n", "many"], ["run", STORIES, "a", "-n", "-3"],
                      ["run", STORIES, "a", "--temperature", "-1"], ["run", STORIES, "a", "--top-p", "1.5"],
                      ["run", STORIES, "a", "--temperature", "nan"], ["run", STORIES, "a", "--stop", ""],
                      ["run", STORIES, "a", "--context", "0"], ["run", STORIES, "a", "--threads", "0"],
                      ["run", STORIES, "a", "--precision", "rough"], ["run", STORIES, "--json"],
                      ["debug"], ["debug", "logits", STORIES], ["debug", "logits", STORIES, "--ids", "1,x"],
                      ["debug", "logits", STORIES, "--ids", "1", "--chunk", "0"], ["bench", STORIES, "-r", "0"],
                      ["completion", "tcsh"]):
            self.check_line(2, *words)

    def test_options_that_contradict_each_other_are_refused(self):
        for words in (["run", STORIES, "a", "--raw", "--system", "b"],
                      ["run", STORIES, "a", "--raw", "--chat-template", "b"],
                      ["debug", "logits", STORIES, "--ids", "1", "--all"],
                      ["debug", "logits", STORIES, "--ids", "1", "--top", "3", "--out", "/dev/null"]):
            self.check_line(2, *words)

    def test_what_a_model_cannot_do_exits_with_1_and_one_line(self):
        missing = str(MODELS / "nonesuch")
        self.assertIn(missing, self.check_line(1, "run", missing, "a"))
        self.assertIn(missing, self.check_line(1, "inspect", missing))
        self.assertIn("template", self.check_line(1, "run", STORIES, "a"))
        self.assertIn("nonesuch", self.check_line(1, "run", STORIES, "a", "--override", "nonesuch=1"))
        self.assertIn("rope_theta", self.check_line(1, "run", STORIES, "a", "--override", "rope_theta=abc"))
        self.assertIn("512", self.check_line(1, "debug", "logits", STORIES, "--ids", "1,512"))
        self.assertIn("nonesuch.jinja", self.check_line(1, "run", CHAT, "a", "--chat-template", "nonesuch.jinja"))

    def test_a_terminal_is_never_sent_the_control_characters_of_a_name(self):
        line = self.check_line(1, "inspect", "a\x1b[31m\nb")
        self.assertNotIn("\x1b", line)

    def test_help_and_version(self):
        self.assertRegex(run_ok("--version"), r"^motley \d+\.\d+\.\d+\n$")
        for words in ([], ["run"], ["inspect"], ["bench"], ["compare"], ["debug"], ["debug", "tokens"],
                      ["debug", "prompt"], ["debug", "logits"], ["completion"]):
            self.assertIn("--help", run_ok(*words, "--help"), words)
        for words in (["run"], ["inspect"], ["bench"], ["compare"], ["debug", "tokens"], ["debug", "prompt"],
                      ["debug", "logits"]):
            self.assertIn("Examples:", run_ok(*words, "--help"), words)
        for option in ("--chat-template FILE", "--override KEY=VALUE", "--min-p", "--mlock", "--system"):
            self.assertIn(option, run_ok("run", "--help"))


class Inspect(unittest.TestCase):
    def test_json_says_what_a_model_is(self):
        report = run_json("inspect", CHAT)
        self.assertEqual((report["container"], report["architecture"]), ("safetensors", "llama"))
        self.assertEqual(report["spec"]["hidden"], 256)
        self.assertNotIn("tensors", report)
        total = sum(row["bytes"] for row in report["storage"])
        self.assertEqual(report["bytes"]["total"], total)
        self.assertEqual(sum(row["bytes"] for row in run_json("inspect", CHAT, "--tensors")["tensors"]), total)

    def test_overrides_show(self):
        report = run_json("inspect", STORIES, "--override", "rope_theta=500000")
        self.assertEqual(report["overrides"], ["rope_theta=500000"])
        self.assertEqual(report["spec"]["layers"][0]["mixer"]["rope"]["theta"], 500000)

    def test_the_report_for_people_has_the_same_facts(self):
        text = run_ok("inspect", CHAT, "--tensors")
        for fact in ("safetensors", "hidden 256", "MLX affine 4-bit", "4.500", "model.layers.1.mlp.down_proj",
                     "theta 100000", "bytes a token"):
            self.assertIn(fact, text)


class Debug(unittest.TestCase):
    def test_tokens_come_from_the_argument_or_standard_input_to_the_byte(self):
        by_argument = run_ok("debug", "tokens", CHAT, "one\n\n")
        self.assertEqual(run_ok("debug", "tokens", CHAT, text="one\n\n"), by_argument)
        self.assertNotEqual(run_ok("debug", "tokens", CHAT, text="one\n"), by_argument)

    def test_special_tokens_and_affixes_can_be_left_alone(self):
        def ids(*words):
            return json.loads(run_ok("debug", "tokens", *words))["ids"]
        self.assertEqual(len(ids(CHAT, "<|im_end|>", "--no-affixes")), 1)
        self.assertGreater(len(ids(CHAT, "<|im_end|>", "--no-affixes", "--special-as-text")), 1)
        self.assertEqual(ids(STORIES, "Once")[0], 1)  # BOS
        self.assertEqual(ids(STORIES, "Once", "--no-affixes"), ids(STORIES, "Once")[1:])

    def test_prompt_renders_a_list_or_an_object(self):
        messages = [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]
        # The template of this checkpoint, chat_template.jinja, is ChatML.
        expected = "<|im_start|>system\nBe kind<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        as_list = json.loads(run_ok("debug", "prompt", CHAT, "-", text=json.dumps(messages)))
        self.assertEqual(as_list, {"prompt": expected + "<|im_start|>assistant\n"})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "messages.json")
            path.write_text(json.dumps({"messages": messages, "tools": None}))
            as_object = json.loads(run_ok("debug", "prompt", CHAT, path, "--no-generation-prompt"))
        self.assertEqual(as_object, {"prompt": expected})

    def test_prompt_gives_templates_tools_and_variables(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder, "t.jinja")
            template.write_text("{{ tools[0].name }} {{ documents[0].title }} {{ mood }} {{ messages | length }}")
            given = {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "clock"}],
                     "documents": [{"title": "book"}], "mood": "good"}
            output = run_ok("debug", "prompt", CHAT, "-", "--chat-template", template, text=json.dumps(given))
        self.assertEqual(json.loads(output), {"prompt": "clock book good 1"})

    def test_prompt_refuses_what_is_no_conversation(self):
        for text in ("7", "{}", "[", '{"messages": 7}', '"hello"'):
            result = run("debug", "prompt", CHAT, "-", text=text)
            self.assertEqual((result.returncode, result.stdout), (1, b""), text)

    def test_logits_are_the_reference_implementations(self):
        manifest = json.loads((REFERENCE / "manifest.json").read_text())
        entry = next(entry for entry in manifest if entry["name"] == "mlx-affine-4bit-g64")
        expected = read_npy(REFERENCE.parent / entry["logits"])
        ids = ",".join(map(str, entry["ids"]))
        with tempfile.TemporaryDirectory() as folder:
            for chunk in (1, 7, 512):
                path = os.path.join(folder, f"{chunk}.npy")
                run_ok("debug", "logits", CHAT, *ONE, "--ids", ids, "--precision", "exact", "--all", "--out", path,
                       "--chunk", chunk)
                self.assertEqual(os.listdir(folder), [f"{chunk}.npy"])
                rows = read_npy(path)
                os.remove(path)
                self.assertEqual(len(rows), len(expected))
                flat = [value for row in expected for value in row]
                allowed = entry["tolerance"] * (max(flat) - min(flat))
                worst = max(abs(a - b) for row, want in zip(rows, expected) for a, b in zip(row, want))
                self.assertLessEqual(worst, allowed, chunk)
        top = json.loads(run_ok("debug", "logits", CHAT, *ONE, "--ids", ids, "--precision", "exact", "--top", 5))["top"]
        best = sorted(range(len(expected[-1])), key=lambda id: -expected[-1][id])[:5]
        self.assertEqual([entry["id"] for entry in top], best)

    def test_only_the_last_position_is_written_unless_all_are_wanted(self):
        with tempfile.TemporaryDirectory() as folder:
            run_ok("debug", "logits", STORIES, *ONE, "--ids", "1,2,3", "--out", folder + "/last.npy")
            run_ok("debug", "logits", STORIES, *ONE, "--ids", "1,2,3", "--all", "--out", folder + "/all.npy")
            last, everything = read_npy(folder + "/last.npy"), read_npy(folder + "/all.npy")
        self.assertEqual((len(last), len(everything)), (1, 3))
        self.assertEqual(last[0], everything[2])

    def test_nothing_is_left_half_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "logits.npy")
            result = run("debug", "logits", STORIES, "--ids", "1,9999", "--out", path)
            self.assertEqual((result.returncode, os.listdir(folder)), (1, []))
            missing = run("debug", "logits", STORIES, "--ids", "1", "--out", path + "/x.npy")
            self.assertEqual((missing.returncode, missing.stderr.count(b"\n")), (1, 1))


class Bench(unittest.TestCase):
    def test_json_has_medians_within_their_spread(self):
        report = run_json("bench", STORIES, "-p", 64, "-n", 8, "-r", 3, *ONE)
        for kind in ("prefill", "decode"):
            median, spread = report[f"{kind}_tokens_per_s"], report[f"{kind}_spread"]
            self.assertTrue(0 < spread["min"] <= median <= spread["max"], report)
        self.assertGreater(report["decode_bytes_per_token"], 1_000_000)  # 260 thousand weights of four bytes
        self.assertGreater(report["read_gb_per_s"], 0)

    def test_text_shows_the_same(self):
        self.assertIn("tokens/s", run_ok("bench", STORIES, "-p", 16, "-n", 4, "-r", 1, "--threads", 2))


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = run_ok("completion", "bash")
        quoted = " ".join(f"'{word}'" for word in words)
        shell = (f"{script}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n"
                 "_motley\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        return subprocess.run(["bash", "-c", shell], capture_output=True, check=True, cwd="/").stdout.decode().split()

    def test_bash_offers_commands_options_and_values(self):
        self.assertIn("inspect", self.complete("motley", "ins"))
        self.assertEqual(self.complete("motley", "debug", "log"), ["logits"])
        self.assertEqual(self.complete("motley", "run", "--temp"), ["--temperature"])
        self.assertEqual(self.complete("motley", "run", "--precision", ""), ["exact", "fast"])
        self.assertEqual(self.complete("motley", "compare", "--precision-b", ""), ["exact", "fast"])
        self.assertEqual(self.complete("motley", "debug", "logits", "--ch"), ["--chat-template", "--chunk"])

    def test_zsh_and_fish_know_every_command(self):
        for shell in ("zsh", "fish"):
            script = run_ok("completion", shell)
            for word in ("inspect", "bench", "compare", "logits", "min-p"):
                self.assertIn(word, script, shell)


if __name__ == "__main__":
    unittest.main()
