"""`motley run` with a prompt: exact text, JSON, stops, pipes, and what happens when it cannot go on."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from motley import CHAT, ONE, PROGRAM, RAW, STORIES, TIMEOUT_S, run, run_json, run_ok

PROMPT = "Once upon a time"
GOLDEN = pathlib.Path(STORIES, "greedy-200.txt").read_text()


class ExactText(unittest.TestCase):
    def test_prompt_and_answer_are_the_reference_programs_output(self):
        for precision in ("exact", "fast"):
            output = run_ok("run", STORIES, *RAW, "-n", 196, PROMPT, "--precision", precision)
            self.assertEqual(PROMPT + output, GOLDEN, precision)

    def test_json_holds_the_answer_without_the_final_newline(self):
        answer = run_json("run", STORIES, *RAW, "-n", 196, PROMPT)
        self.assertEqual(PROMPT + answer["text"] + "\n", GOLDEN)

    def test_every_instruction_set_here_writes_the_same(self):
        complaint = run("run", STORIES, *RAW, PROMPT, "--instruction-set", "nonesuch")
        self.assertEqual(complaint.returncode, 1)
        self.assertIn(b"scalar", complaint.stderr)
        by_flag = run_ok("run", STORIES, *RAW, "-n", 196, PROMPT, "--instruction-set", "scalar")
        by_environment = run_ok("run", STORIES, *RAW, "-n", 196, PROMPT, env={"MOTLEY_INSTRUCTION_SET": "scalar"})
        self.assertEqual(PROMPT + by_flag, GOLDEN)
        self.assertEqual(by_environment, by_flag)
        unknown = run("run", STORIES, *RAW, PROMPT, env={"MOTLEY_INSTRUCTION_SET": "nonesuch"})
        self.assertEqual(unknown.returncode, 1)


class Json(unittest.TestCase):
    def test_is_one_object_with_these_members(self):
        answer = run_json("run", STORIES, *RAW, "-n", 8, PROMPT)
        self.assertEqual(list(answer), ["text", "ids", "prompt_ids", "stop_reason", "prefill_tokens_per_s",
                                        "decode_tokens_per_s", "load_ms", "peak_memory_bytes"])
        self.assertEqual(len(answer["ids"]), 8)
        self.assertEqual(answer["prompt_ids"], json.loads(run_ok("debug", "tokens", STORIES, PROMPT))["ids"])
        self.assertEqual(answer["stop_reason"], "length")
        for speed in ("prefill_tokens_per_s", "decode_tokens_per_s", "load_ms"):
            self.assertGreater(answer[speed], 0, speed)
        self.assertGreater(answer["peak_memory_bytes"], 1 << 20)

    def test_says_that_an_end_token_ended_it(self):
        answer = run_json("run", STORIES, *RAW, "-n", 500, "Once")
        self.assertEqual(answer["stop_reason"], "end")
        self.assertLess(len(answer["ids"]), 500)

    def test_says_that_the_context_is_full_and_cuts_nothing(self):
        answer = run_json("run", STORIES, *RAW, "--context", 24, PROMPT)
        self.assertEqual(answer["stop_reason"], "context")
        self.assertEqual(len(answer["prompt_ids"]) + len(answer["ids"]), 24)
        self.assertTrue(GOLDEN.startswith(PROMPT + answer["text"]))

    def test_refuses_a_prompt_that_fills_the_context(self):
        result = run("run", STORIES, *RAW, "--context", 8, PROMPT * 3)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, b"")

    def test_generates_nothing_when_asked_for_nothing(self):
        answer = run_json("run", STORIES, *RAW, "-n", 0, PROMPT)
        self.assertEqual((answer["text"], answer["ids"], answer["decode_tokens_per_s"]), ("", [], None))


class Stops(unittest.TestCase):
    def test_ends_before_a_stop_string_wherever_tokens_are_cut(self):
        text = GOLDEN[len(PROMPT):]
        for stop in (". She", "red ball", "d, \"I", "Lily's mom"):
            answer = run_json("run", STORIES, *RAW, "-n", 196, PROMPT, "--stop", stop)
            self.assertEqual(answer["stop_reason"], "stop", stop)
            self.assertEqual(answer["text"], text[:text.index(stop)], stop)

    def test_the_first_of_several_wins(self):
        answer = run_json("run", STORIES, *RAW, "-n", 196, PROMPT, "--stop", "Lily's mom", "--stop", "red")
        self.assertTrue(answer["text"].endswith("a big, "), answer["text"])

    def test_takes_only_one_word_a_flag(self):
        output = run_ok("run", STORIES, *RAW, "-n", 196, "--stop", "red", PROMPT)
        self.assertTrue(output.endswith("a big, \n"), output)


class Sampling(unittest.TestCase):
    def sample(self, *words):
        return run_json("run", STORIES, "--raw", *ONE, "-n", 40, PROMPT, *words)["ids"]

    def test_a_seed_repeats_and_another_differs(self):
        self.assertEqual(self.sample("--seed", 7), self.sample("--seed", 7))
        self.assertNotEqual(self.sample("--seed", 7), self.sample("--seed", 8))

    def test_draws_another_seed_every_time_and_says_which(self):
        result = run("run", STORIES, "--raw", *ONE, "-n", 40, PROMPT, "--json", "--verbose")
        note = result.stderr.decode()
        seed = note[note.index("seed ") + 5:].split()[0]
        self.assertEqual(self.sample("--seed", seed), json.loads(result.stdout)["ids"])
        self.assertIn("temperature 0.8 (motley's default)", note)

    def test_keeping_one_token_is_greedy(self):
        greedy = self.sample("--temperature", 0)
        self.assertEqual(self.sample("--top-k", 1, "--seed", 3), greedy)
        self.assertEqual(self.sample("--top-p", 0.0001, "--seed", 3), greedy)
        self.assertEqual(self.sample("--min-p", 1, "--seed", 3), greedy)

    def test_penalties_change_a_text_that_repeats_itself(self):
        plain = run_json("run", STORIES, *RAW, "-n", 100, PROMPT)["ids"]
        for flag, value in (("--repeat-penalty", 1.5), ("--presence-penalty", 2), ("--frequency-penalty", 2)):
            self.assertNotEqual(run_json("run", STORIES, *RAW, "-n", 100, PROMPT, flag, value)["ids"], plain, flag)

    def test_takes_what_the_model_recommends(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in pathlib.Path(CHAT).iterdir():
                os.symlink(path, os.path.join(folder, path.name))
            config = pathlib.Path(folder, "generation_config.json")
            known = json.loads(config.read_text())
            config.unlink()
            config.write_text(json.dumps({**known, "do_sample": True, "temperature": 0.6, "top_p": 0.9}))
            note = run("run", folder, "Hi", *ONE, "-n", 2, "--verbose", "--top-p", "0.5").stderr.decode()
            self.assertIn("temperature 0.6 (generation_config.json)", note)
            self.assertIn("top_p 0.5 (set by you)", note)
            self.assertIn("top_k 0 (not in generation_config.json)", note)
            config.write_text(json.dumps({**known, "do_sample": False}))
            note = run("run", folder, "Hi", *ONE, "-n", 2, "--verbose").stderr.decode()
            self.assertIn("temperature 0 (generation_config.json)", note)


class Prompts(unittest.TestCase):
    def ids(self, *words, **more):
        return run_json("run", STORIES, *RAW, "-n", 1, *words, **more)["prompt_ids"]

    def test_comes_from_a_pipe_without_its_last_newline(self):
        expected = self.ids("Once upon\n a time")
        self.assertEqual(self.ids(text="Once upon\n a time\n"), expected)
        self.assertEqual(self.ids(text="Once upon\n a time"), expected)

    def test_a_pipe_follows_the_argument_after_a_blank_line(self):
        self.assertEqual(self.ids("Once upon", text="a time\n"), self.ids("Once upon\n\na time"))

    def test_an_empty_pipe_adds_nothing(self):
        self.assertEqual(self.ids("Once upon", text=""), self.ids("Once upon"))

    def test_nothing_at_all_is_an_error(self):
        self.assertEqual(run("run", STORIES, *RAW).returncode, 2)
        self.assertEqual(run("run", STORIES, *RAW, text="").returncode, 1)

    def test_an_empty_argument_continues_from_nothing(self):
        self.assertEqual(len(self.ids("")), 1)  # BOS

    def test_a_prompt_that_is_not_utf8_is_an_error(self):
        result = subprocess.run([PROGRAM, "run", STORIES, "--raw"], input=b"caf\xe9 ol\xe9", capture_output=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count(b"\n")), (1, b"", 1))

    def test_the_system_message_and_the_template_are_used(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder, "t.jinja")
            template.write_text("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
            words = ["run", CHAT, "Hi", *ONE, "--system", "Be kind", "-n", 1, "--chat-template", template]
            expected = json.loads(run_ok("debug", "tokens", CHAT, "[system]Be kind[user]Hi", "--no-affixes"))
            self.assertEqual(run_json(*words)["prompt_ids"], expected["ids"])


class Ends(unittest.TestCase):
    def test_a_reader_that_goes_away_is_no_error_message(self):
        child = subprocess.Popen([PROGRAM, "run", STORIES, *RAW, "-n", "400", PROMPT], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdout.read(1)
        child.stdout.close()
        self.assertEqual(child.wait(TIMEOUT_S), 141)
        self.assertEqual(child.stderr.read(), b"")
        child.stderr.close()

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):  # macOS has none
            return
        with open("/dev/full", "wb") as full:
            child = subprocess.run([PROGRAM, "run", STORIES, *RAW, "-n", "20", PROMPT], stdin=subprocess.DEVNULL,
                                   stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual((child.returncode, child.stderr.count(b"\n")), (1, 1))

    def test_an_interrupt_ends_the_answer_and_keeps_what_there_is(self):
        words = ["run", CHAT, *RAW, "a", "-n", "120", "--instruction-set", "scalar", "--precision", "exact"]
        whole = run_ok(*words)
        child = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
        begun = child.stdout.read(1)
        child.send_signal(signal.SIGINT)
        output = (begun + child.stdout.read()).decode()
        child.stdout.close()
        self.assertEqual(child.wait(TIMEOUT_S), 130)
        self.assertTrue(output.endswith("\n") and whole.startswith(output[:-1]), output)
        self.assertLess(len(output), len(whole))


if __name__ == "__main__":
    unittest.main()
