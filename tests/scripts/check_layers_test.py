"""scripts/check-layers must accept a sound little tree and must reject it once any one rule is broken."""

import importlib.machinery
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
check_layers = importlib.machinery.SourceFileLoader("check_layers", str(ROOT / "scripts" / "check-layers")).load_module()

SOUND = {
    "src/base/CMakeLists.txt": "motley_module(base SOURCES os_file.cc)\n",
    "src/base/status.h": '#pragma once\n#include <string>\n#include "absl/status/status.h"\n',
    "src/base/os_file.cc": '#include <sys/mman.h>\n#include <unistd.h>\n#include "base/status.h"\n',
    "src/tensor/CMakeLists.txt": "motley_module(tensor SOURCES dtype.cc MODULES base)\n",
    "src/tensor/dtype.h": '#pragma once\n#include "base/status.h"\n',
    "src/model/CMakeLists.txt": "motley_module(model SOURCES spec.cc MODULES tensor)\n"
                                "motley_test(model_test SOURCES spec_test.cc MODULES model)\n",
    "src/model/spec.h": '#pragma once\n#include "tensor/dtype.h"\n',
    "src/model/spec.cc": '#include "model/spec.h"\n#include <simdjson.h>\n',
    "src/kernels/CMakeLists.txt": "motley_module(kernels SOURCES avx2.cc)\n",
    "src/kernels/avx2.cc": "#include <immintrin.h>\n",
    "src/kernels/testing/CMakeLists.txt": "motley_module(kernels_testing SOURCES a.cc MODULES kernels)\n",
    "src/kernels/testing/matrices.h": '#pragma once\n#include "gtest/gtest.h"\n',
    "src/exec/CMakeLists.txt": "motley_module(exec SOURCES local.cc MODULES model)\n",
    "src/exec/runner.h": '#pragma once\n#include "model/spec.h"\n',
    "src/exec/local.h": '#pragma once\n#include "exec/runner.h"\n',
    "src/engine/CMakeLists.txt": "motley_module(engine SOURCES session.cc MODULES model)\n",
    "src/engine/session.cc": '#include "exec/runner.h"\n#include "model/spec.h"\n',
    "src/app/CMakeLists.txt": "motley_module(app SOURCES main.cc MODULES exec)\n",
    "src/app/main.cc": '#include "exec/local.h"\nconst char* home() { return getenv("HOME"); }\n',
}

# name: (file, text added to it, a part of the line that must be printed)
VIOLATIONS = {
    "upwards": ("src/tensor/dtype.h", '#include "model/spec.h"\n', "tensor may not include model/spec.h"),
    "upwards from base": ("src/base/status.h", '#include "tensor/dtype.h"\n', "base may not include tensor/dtype.h"),
    "sideways": ("src/model/spec.cc", '#include "kernels/table.h"\n', "model may not include kernels/table.h"),
    "engine past the runner": ("src/engine/session.cc", '#include "exec/local.h"\n', "engine may not include exec/local.h"),
    "app from below": ("src/exec/local.h", '#include "app/main.h"\n', "exec may not include app/main.h"),
    "angle brackets do not hide it": ("src/tensor/dtype.h", "#include <model/spec.h>\n", "tensor may not include"),
    "spaces do not hide it": ("src/tensor/dtype.h", '  #  include "model/spec.h"\n', "tensor may not include"),
    "relative include": ("src/model/spec.h", '#include "../exec/local.h"\n', "relative to src"),
    "third party in a header": ("src/model/spec.h", "#include <simdjson.h>\n", "third-party"),
    "third party in a header, quoted": ("src/model/spec.h", '#include "nlohmann/json.hpp"\n', "third-party"),
    "test library in a header": ("src/model/spec.h", '#include "gtest/gtest.h"\n', "third-party"),
    "system header outside base": ("src/model/spec.cc", "#include <unistd.h>\n", "operating-system"),
    "system header in a folder": ("src/exec/local.h", "#include <sys/mman.h>\n", "operating-system"),
    "system header in base but not os_": ("src/base/status.h", "#include <fcntl.h>\n", "operating-system"),
    "intrinsics outside kernels": ("src/model/spec.cc", "#include <immintrin.h>\n", "instruction sets"),
    "environment outside app": ("src/exec/local.h", 'inline auto x = getenv("X");\n', "environment"),
    "unknown module": ("src/misc/util.h", "#pragma once\n", "no row"),
    "linked but not in the row": ("src/tensor/CMakeLists.txt", "motley_module(tensor2 SOURCES a.cc MODULES exec)\n",
                                  "lists module exec"),
    "linked by a test only": ("src/model/CMakeLists.txt", "motley_test(t SOURCES a.cc MODULES model exec)\n",
                              "lists module exec"),
    "a test library of another module": ("src/model/CMakeLists.txt", "motley_test(t SOURCES a.cc MODULES kernels_testing)\n",
                                         "lists module kernels"),
    "included but not linked": ("src/engine/session.cc", '#include "sample/sample.h"\n', "does not list it"),
}


class CheckLayersTest(unittest.TestCase):

    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="layers"))
        self.addCleanup(shutil.rmtree, self.tree)
        self.make_sound()

    def make_sound(self):
        shutil.rmtree(self.tree)
        for name, text in SOUND.items():
            self.append(name, text)
        (self.tree / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "layers.txt", self.tree / "scripts")

    def append(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    def run_script(self, tree):
        return subprocess.run([ROOT / "scripts" / "check-layers", tree], capture_output=True, text=True)

    def test_sound_tree_passes(self):
        result = self.run_script(self.tree)
        self.assertEqual((result.returncode, result.stdout), (0, "layers: 0 violations\n"))

    def test_this_repository_passes(self):
        result = self.run_script(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_violation_fails_the_script(self):
        self.append("src/tensor/dtype.h", '#include "model/spec.h"\n')
        result = self.run_script(self.tree)
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/tensor/dtype.h:3: tensor may not include model/spec.h", result.stdout)

    def test_every_violation_is_found(self):
        for name, (file, text, expected) in VIOLATIONS.items():
            with self.subTest(name):
                self.make_sound()
                self.append(file, text)
                problems = check_layers.Checker(self.tree).run()
                self.assertEqual(len(problems), 1, problems)
                self.assertIn(expected, problems[0])

    def test_table_must_be_in_order(self):
        self.append("scripts/layers.txt", "late: app\nearly: later\nlater:\n")
        self.assertEqual(self.run_script(self.tree).returncode, 1)


if __name__ == "__main__":
    unittest.main()
