"""The chat, on a pseudo-terminal: questions, Ctrl-C during answers and between, commands, history, several lines."""

import os
import pathlib
import pty
import select
import signal
import tempfile
import termios
import time
import unittest

from motley import CHAT, ONE, PROGRAM, STORIES, TIMEOUT_S

PROMPT = ">>> "
CONTINUATION = "... "


class Terminal:
    """The program on a terminal, and everything it has written there."""

    def __init__(self, state_folder, *words):
        environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": state_folder, "HOME": state_folder}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, [PROGRAM, *words], environment)
        self.output = ""
        self.exit_status = None

    def expect(self, what, timeout_s=TIMEOUT_S):
        """What was written up to and with `what`, taken off the output."""
        end = time.monotonic() + timeout_s
        while what not in self.output:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.fd], [], [], left)[0]
            piece = self.read() if ready else b""
            if not piece:
                raise AssertionError(f"no {what!r} in {self.output!r}")
            self.output += piece.decode(errors="replace")
        before, _, self.output = self.output.partition(what)
        return before + what

    def read(self):
        try:
            return os.read(self.fd, 65536)
        except OSError:  # Linux says so when the program has ended
            return b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def ask(self, line):
        """Types a line; everything until the next prompt, without the echo."""
        self.type(line + "\n")
        self.expect("\n")
        return self.expect(PROMPT)[:-len(PROMPT)].replace("\r", "")

    def wait(self):
        end = time.monotonic() + TIMEOUT_S
        while select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
            if not self.read():
                break
        else:
            raise AssertionError(f"does not end, after {self.output!r}")
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class Chat(unittest.TestCase):
    def setUp(self):
        self.state = tempfile.TemporaryDirectory()
        self.addCleanup(self.state.cleanup)

    def open(self, *words):
        terminal = Terminal(self.state.name, "run", *words, *ONE)
        self.addCleanup(terminal.close)
        self.greeting = terminal.expect(PROMPT)
        return terminal

    def test_answers_questions_until_bye(self):
        terminal = self.open(CHAT, "--temperature", "0", "-n", "12")
        self.assertIn("/help", self.greeting)
        first = terminal.ask("Hello")
        self.assertIn("[Ended after 12 tokens.]", first)
        second = terminal.ask("Hello")
        self.assertIn("tokens", second)
        terminal.type("/bye\n")
        self.assertEqual(terminal.wait(), 0)

    def test_clear_begins_the_same_conversation_again(self):
        terminal = self.open(CHAT, "--temperature", "0", "-n", "12")
        first = terminal.ask("Hello")
        self.assertIn("conversation: 2 messages", terminal.ask("/show"))
        terminal.ask("And then?")
        terminal.ask("/clear")
        self.assertIn("conversation: 0 messages", terminal.ask("/show"))
        self.assertEqual(terminal.ask("Hello"), first)

    def test_control_c_ends_the_answer_and_not_the_program(self):
        # Slow arithmetic: the answer must not be over before this test is awake again.
        terminal = self.open(CHAT, "--raw", "--temperature", "0", "--instruction-set", "scalar", "--precision", "exact",
                             "-n", "120")
        whole = terminal.ask("a")
        terminal.type("a\n")
        terminal.expect("\n")
        begun = terminal.expect(whole[0])
        terminal.type("\x03")
        rest = terminal.expect(PROMPT)
        self.assertIn("[Ended by you.]", rest)
        self.assertLess(len(begun + rest), len(whole))
        self.assertEqual(terminal.ask("a"), whole)

    def test_an_answer_cannot_control_the_terminal(self):
        terminal = self.open(CHAT, "--raw", "--temperature", "0", "--precision", "exact", "-n", "40")
        answer = terminal.ask("a")
        self.assertIn("\u2402", answer)  # this model says U+0002 there
        self.assertNotIn("\x02", answer)

    def test_control_c_at_the_prompt_says_how_to_leave_and_control_d_does(self):
        terminal = self.open(STORIES, "--raw")
        terminal.type("half a line\x03")
        self.assertIn("/bye", terminal.expect(PROMPT))
        self.assertIn("/bye", terminal.ask("/help"))
        terminal.type("\x04")
        self.assertEqual(terminal.wait(), 0)

    def test_the_terminal_is_ready_when_the_prompt_is_there(self):
        # It was not: what came at once was echoed twice, and Ctrl-D was lost.
        terminal = self.open(STORIES, "--raw")
        local_modes = termios.tcgetattr(terminal.fd)[3]
        self.assertEqual(local_modes & (termios.ECHO | termios.ICANON | termios.ISIG), 0)

    def test_an_interrupt_that_comes_after_the_answer_ends_nothing(self):
        terminal = self.open(STORIES, "--raw", "-n", "1")
        os.kill(terminal.pid, signal.SIGINT)
        terminal.type("Once\n")
        terminal.expect("[Ended after 1 tokens.]")

    def test_set_changes_takes_back_shows_and_refuses(self):
        terminal = self.open(STORIES, "--raw", "--temperature", "0", "-n", "5")
        self.assertIn("temperature: 0 (set by you)", terminal.ask("/set"))
        self.assertIn("[Ended after 5 tokens.]", terminal.ask("Once upon a time"))
        terminal.ask("/set n 9")
        self.assertIn("[Ended after 9 tokens.]", terminal.ask("Once upon a time"))
        terminal.ask("/set stop girl")
        self.assertRegex(terminal.ask("Once upon a time"), r"was a little \n")
        terminal.ask("/set stop default")
        for wrong in ("/set temperature -3", "/set temperature warm", "/set nonesuch 1", "/set n some"):
            self.assertIn("motley: ", terminal.ask(wrong), wrong)
        self.assertIn("temperature: 0 (set by you)", terminal.ask("/set"))
        terminal.ask("/set temperature default")
        self.assertIn("temperature: 0.8 (motley's default)", terminal.ask("/set"))
        self.assertIn("/help", terminal.ask("/nonesuch"))

    def test_system_messages_are_set_shown_and_taken_back(self):
        terminal = self.open(CHAT, "--system", "Be kind", "-n", "1")
        self.assertIn("Be kind", terminal.ask("/system"))
        terminal.ask("/system Be short")
        self.assertIn("Be short", terminal.ask("/system"))
        terminal.ask("/system -")
        self.assertIn("No system message", terminal.ask("/system"))

    def test_several_lines_make_one_message(self):
        terminal = self.open(STORIES, "--raw", "--temperature", "0", "-n", "4")
        joined = None
        for lines in (['"""Once', 'upon"""'], ["Once\\", "upon"]):
            terminal.type(lines[0] + "\n")
            terminal.expect(CONTINUATION)
            answer = terminal.ask(lines[1])
            joined = joined or answer
            self.assertEqual(answer, joined)

    def test_an_error_does_not_end_the_chat(self):
        terminal = self.open(STORIES, "--raw", "--context", "16", "--temperature", "0")
        self.assertIn("motley: ", terminal.ask("Once upon a time there was a girl " * 3))
        self.assertIn("[The context is full.", terminal.ask("Once"))

    def test_history_is_kept_for_the_next_chat_and_private(self):
        terminal = self.open(STORIES, "--raw", "-n", "1")
        terminal.ask("a question to remember")
        terminal.type("/bye\n")
        terminal.wait()
        path = pathlib.Path(self.state.name, "motley", "history")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        terminal = self.open(STORIES, "--raw", "-n", "1")
        terminal.type("\x1b[A\x1b[A")  # two lines up: /bye, then the question
        terminal.expect("a question to remember")

    def test_typed_characters_of_any_script_arrive(self):
        terminal = self.open(CHAT, "--system", "x", "-n", "1")
        terminal.ask("/system grüße \U0001F600")
        self.assertIn("grüße \U0001F600", terminal.ask("/system"))


if __name__ == "__main__":
    unittest.main()
