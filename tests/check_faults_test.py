#!/usr/bin/env python3
"""scripts/check-faults refuses faults that no longer fit, in a small tree; and those of the project do fit.

    tests/check_faults_test.py [TEST..]
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]


def load_script():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("check_faults", str(ROOT / "scripts/check-faults"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_faults", loader))
    sys.modules["check_faults"] = module  # its data class looks there
    loader.exec_module(module)
    return module


SCRIPT = load_script()

FAULT = {"what": "one too few", "file": "common/base/count.cc", "right": "return n;", "wrong": "return n - 1;",
         "target": "base_test", "test": "Count.IsTheNumber"}


class CheckFaults(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="blink-faults."))
        self.addCleanup(shutil.rmtree, self.root)
        self.write("common/base/count.cc", "int Count(int n) { return n; }\n")
        self.write("tests/unit/base/count_test.cc", "TEST(Count, IsTheNumber) {}\n")
        self.write("tests/unit/base/CMakeLists.txt", "blink_test(base_test LABEL unit SOURCES count_test.cc)\n")
        self.write("docs/DEVELOPMENT.md", "| fault |\n|---|\n| `too-few` | common/base |\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_faults(self, name="too-few", **changes):
        entry = {**FAULT, **changes}
        self.write("tests/faults.toml", f"[{name}]\n" + "".join(f"{key} = '''{value}'''\n"
                                                                for key, value in entry.items() if value is not None))

    def check(self, *arguments, root=None):
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                code = SCRIPT.main(["--root", str(root or self.root), *arguments])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), error.getvalue()

    def assertUnfit(self, why):
        code, _, error = self.check("--dry-run")
        self.assertEqual(code, 1, error)
        self.assertIn(why, error)

    def test_the_faults_of_the_project_fit(self):
        code, out, error = self.check("--dry-run", root=ROOT)
        self.assertEqual((code, error), (0, ""))
        self.assertRegex(out, r"^\d\d faults fit the sources\n$")

    def test_a_fault_that_fits_is_listed_with_its_test(self):
        self.write_faults()
        self.assertEqual(self.check("--dry-run"), (0, "1 faults fit the sources\n", ""))
        code, out, _ = self.check("--list", "too-few")
        self.assertEqual((code, out), (0, "too-few: one too few\n    common/base/count.cc; found by Count.IsTheNumber "
                                          "in base_test\n"))

    def test_refuses_a_fault_that_has_no_place_or_several(self):
        self.write_faults(right="return m;")
        self.assertUnfit('too-few: "right" stands 0 times in common/base/count.cc, and must stand there once')
        self.write_faults(right="n")
        self.assertUnfit('"right" stands 6 times in')
        self.write_faults(wrong="return n;")
        self.assertUnfit("are the same text")
        self.write_faults(file="common/base/none.cc")
        self.assertUnfit("none.cc")

    def test_refuses_a_fault_without_a_test_or_a_line_in_the_list(self):
        self.write_faults(test="Count.IsNone")
        self.assertUnfit("too-few: no file below tests/ has the test Count.IsNone")
        self.write_faults(target="base")
        self.assertUnfit("blink_test(base")
        self.write_faults(name="too-many")
        self.assertUnfit("too-many: the table of docs/DEVELOPMENT.md does not list it")

    def test_refuses_entries_that_say_too_little_or_too_much(self):
        self.assertUnfit("faults.toml: ")  # there is none
        self.write_faults(what=None)
        self.assertUnfit("[too-few] must hold the texts file, right, target, test, what, wrong")
        self.write_faults(why="because")
        self.assertUnfit("and nothing else")
        self.write_faults(name='"too few"')
        self.assertUnfit('the name "too few" has other characters')
        self.write("tests/faults.toml", "")
        self.assertUnfit("holds no fault")

    def test_refuses_wrong_arguments(self):
        self.write_faults()
        code, _, error = self.check("--dry-run", "too-mny")
        self.assertEqual(code, 2)
        self.assertIn("holds no too-mny", error)
        self.assertEqual(self.check("--dry-run", "--jobs", "0")[0], 2)


if __name__ == "__main__":
    unittest.main()
