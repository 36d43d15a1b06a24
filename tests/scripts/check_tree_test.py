"""scripts/check-tree must accept a clean repository and must reject each thing that it forbids."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# name: (file, content, a part of the line that must be printed); the words are spelt in halves for the check itself.
VIOLATIONS = {
    "path of a machine": ("docs/a.md", b"see /wo" b"rk/main\n", "docs/a.md:1"),
    "unfinished": ("src/a.cc", b"int a;\n// TO" b"DO: more\n", "src/a.cc:2"),
    "broken": ("src/b.cc", b"// FIX" b"ME\n", "src/b.cc:1"),
    "large": ("tests/data/big.bin", b"\0" * 1_500_001, "tests/data/big.bin: 1500001 bytes"),
    "listed but gone": ("scripts/large-files.txt", b"tests/data/gone.bin because\n", "gone.bin is not there"),
}


class CheckTreeTest(unittest.TestCase):

    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="tree"))
        self.addCleanup(shutil.rmtree, self.tree)
        subprocess.run(["git", "init", "-q", self.tree], check=True)
        self.add("README.md", b"fine\n")
        self.add("tests/data/text.txt", b"words of others, TO" b"DO among them\n")

    def add(self, name, content):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        subprocess.run(["git", "-C", self.tree, "add", "-f", name], check=True)

    def check(self):
        return subprocess.run([ROOT / "scripts" / "check-tree", self.tree], capture_output=True, text=True)

    def test_clean_tree_passes(self):
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, "tree: 0 problems\n"))

    def test_untracked_files_do_not_count(self):
        (self.tree / "scratch.txt").write_text("/wo" "rk/")
        self.assertEqual(self.check().returncode, 0)

    def test_listed_large_file_passes(self):
        self.add("tests/data/big.bin", b"\0" * 1_500_001)
        self.add("scripts/large-files.txt", b"# why\ntests/data/big.bin a reason\n")
        self.assertEqual(self.check().returncode, 0)

    def test_every_violation_fails(self):
        for name, (file, content, expected) in VIOLATIONS.items():
            with self.subTest(name):
                self.add(file, content)
                result = self.check()
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(expected, result.stdout)
                subprocess.run(["git", "-C", self.tree, "rm", "-q", "-f", file], check=True)


if __name__ == "__main__":
    unittest.main()
