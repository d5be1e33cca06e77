#!/usr/bin/env python3
"""scripts/lint finds what breaks a convention: each test breaks one in a small tree, and expects the file and the line.

    tests/lint_test.py [TEST..]

A test of a check whose programs are not installed skips (scripts/install-deps --lint). Exit code 77: all skipped.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]

TABLES = """# The tree of a test

| folder | what | may include |
|---|---|---|
| `common/base` | below all | – |
| `common/wire` | above it | `common/base` `proto/blink/v1` |
| `proto/blink/v1` | messages | – |
| `scripts` `tests/*` | programs and tests | everything |

| header | why | included only by |
|---|---|---|
| `openssl/*` | few places to review | `common/base` |
| `common/base/secret.h` | for one file | `common/wire/wire.cc` `tests/*` |
"""

FILES = {
    "ARCHITECTURE.md": TABLES,
    "common/base/base.h": '#include <openssl/evp.h>\n\n#include <string>\n\nint Count(const std::string& text);\n',
    "common/base/secret.h": "int Secret();\n",
    "common/wire/wire.cc": '#include "blink/v1/one.pb.h"\n#include "common/base/base.h"\n'
                           '#include "common/base/secret.h"\n',
    "tests/unit/wire/wire_test.cc": '#include "common/wire/wire.h"\n\n#include "common/base/secret.h"\n',
    "common/wire/wire.h": "int Wire();\n",
    "proto/blink/v1/one.proto": 'syntax = "proto3";\n\npackage blink.v1;\n\n// One thing.\n'
                                "message One {\n  string name = 1;\n}\n",
    "scripts/tool": "#!/usr/bin/env bash\necho short\n",
}


class Tree:
    """A folder with the files above and the project's configuration, and what scripts/lint says of it."""

    def __init__(self, test):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="blink-lint."))
        test.addCleanup(shutil.rmtree, self.root)
        self.cache = self.root / "build/cache"
        for name, text in FILES.items():
            self.write(name, text)
        for name in (".clang-format", ".clang-tidy", "buf.yaml"):
            shutil.copy(ROOT / name, self.root / name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lint(self, check, *options):
        command = [sys.executable, "-B", ROOT / "scripts/lint", "--root", self.root, *options, check]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.cache)}
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)


class LintTest(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(self)

    def passes(self, check, *options):
        run = self.tree.lint(check, *options)
        if run.returncode == 77:
            self.skipTest(run.stdout.strip())
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def finds(self, check, *findings, options=()):
        run = self.tree.lint(check, *options)
        self.assertEqual(run.returncode, 1, run.stdout)
        places = re.findall(r"^([^\s:]+:\d+): ", run.stdout, re.MULTILINE)
        self.assertEqual(sorted(places), sorted(place for place, _ in findings), run.stdout)
        for place, text in findings:
            self.assertRegex(run.stdout, f"(?m)^{re.escape(place)}: .*{re.escape(text)}")
        self.assertIn("Remedy: ", run.stdout)


class Format(LintTest):
    def test_a_tree_that_follows_it_passes(self):
        self.passes("format")

    def test_a_line_in_another_format_is_found_and_fixed(self):
        self.passes("format")
        self.tree.write("common/wire/wire.h", "int Wire();\nint  Other( );\n")
        self.finds("format", ("common/wire/wire.h:2", "the format differs"))
        self.passes("format", "--fix")
        self.assertEqual((self.tree.root / "common/wire/wire.h").read_text(), "int Wire();\nint Other();\n")

    def test_comments_keep_their_line_breaks(self):
        self.tree.write("common/wire/wire.h", "//   one  1\n//   two  2\n" + f"//   {'three ' * 30}four\n")
        self.passes("format")


class Lines(LintTest):
    def test_a_tree_that_follows_it_passes(self):
        self.passes("lines")

    def test_long_lines_of_code_are_found(self):
        self.tree.write("common/base/base.h", "\n" + "x" * 121 + "\n")
        self.tree.write("scripts/tool", "#!/usr/bin/env bash\necho " + "x" * 120 + "\n")
        self.tree.write("proto/blink/v1/one.proto", "// " + "ä" * 117 + "\n// " + "ä" * 118 + "\n")
        self.finds("lines", ("common/base/base.h:2", "121 columns"), ("scripts/tool:2", "125 columns"),
                   ("proto/blink/v1/one.proto:2", "121 columns"))

    def test_long_lines_of_prose_are_found(self):
        self.tree.write("README.md", "# Heading\n\n" + "word " * 20 + "word\n" + "word " * 19 + "words\n")
        self.finds("lines", ("README.md:3", "104 columns"))

    def test_what_cannot_be_broken_may_be_long(self):
        long = "word " * 30
        self.tree.write("README.md", f"# {long}\n\n| {long} |\n\n```\n{long}\n```\n\n[a](https://{'x' * 120})\n\n"
                                     f"- `{long}`\n")
        self.tree.write("scripts/text.py", f'"""Says something."""\nprint("""\n{long}\n""")\n')
        self.passes("lines")

    def test_a_docstring_is_no_text_to_print(self):
        self.tree.write("scripts/text.py", f'"""Says something.\n\n{"word " * 30}\n"""\n')
        self.finds("lines", ("scripts/text.py:3", "150 columns"))


class Sentences(LintTest):
    def test_a_tree_that_follows_it_passes(self):
        self.passes("sentences")

    def test_a_sentence_of_more_than_forty_words_is_found_where_it_begins(self):
        self.tree.write("README.md", "# Heading\n\nA short one. Now\n" + "word " * 20 + "\n" + "word " * 20 + "end.\n")
        self.finds("sentences", ("README.md:3", "a sentence of 42 words"))

    def test_items_end_a_sentence_and_code_counts_as_one_word(self):
        item = "- " + "word " * 25 + "\n"
        self.tree.write("README.md", f"{item}{item}\n`{'word ' * 60}` is one. {'word ' * 30}.\n")
        self.passes("sentences")


class Includes(LintTest):
    def test_a_tree_that_follows_it_passes(self):
        self.passes("includes")

    def test_a_folder_that_the_row_does_not_allow_is_found(self):
        self.tree.write("common/base/base.h", '#include <string>\n#include "common/wire/wire.h"\n')
        self.finds("includes", ("common/base/base.h:2", "common/base may not include common/wire (ARCHITECTURE.md:5)"))

    def test_a_folder_without_a_row_is_found(self):
        self.tree.write("common/new/new.h", "int New();\n")
        self.finds("includes", ("common/new/new.h:1", "the folder common/new has no row"))

    def test_a_row_without_a_folder_is_found(self):
        self.tree.write("ARCHITECTURE.md", TABLES.replace("`common/base` `proto", "`common/old` `proto"))
        self.tree.write("common/wire/wire.cc", "")
        self.finds("includes", ("ARCHITECTURE.md:6", "names common/old, which does not exist"))

    def test_folders_that_may_include_each_other_are_found(self):
        self.tree.write("ARCHITECTURE.md", TABLES.replace("| below all | – |", "| below all | `common/wire` |"))
        self.finds("includes", ("ARCHITECTURE.md:5", "common/base -> common/wire -> common/base"))

    def test_a_header_kept_to_few_folders_is_found_elsewhere(self):
        self.tree.write("common/wire/wire.h", "#include <openssl/rand.h>\n#include <vector>\n")
        self.tree.write("common/wire/other.cc", '#include "common/base/secret.h"\n')
        self.finds("includes", ("common/wire/wire.h:1", "may not include openssl/rand.h (ARCHITECTURE.md:12)"),
                   ("common/wire/other.cc:1", "may not include common/base/secret.h (ARCHITECTURE.md:13)"))

    def test_a_header_that_does_not_exist_is_found(self):
        self.tree.write("common/wire/wire.h", '#include "common/base/gone.h"\n')
        self.finds("includes", ("common/wire/wire.h:1", "which does not exist"))

    def test_a_missing_table_is_found(self):
        self.tree.write("ARCHITECTURE.md", "# Nothing\n")
        self.finds("includes", ("ARCHITECTURE.md:1", "has no table"))


class Types(LintTest):
    def test_a_tree_that_follows_it_passes(self):
        self.passes("types")

    def test_a_name_of_two_types_is_found_in_headers_and_sources(self):
        self.tree.write("common/base/base.h", "namespace blink {\nstruct Rows {\n};\n}  // namespace blink\n")
        self.tree.write("common/wire/wire.h", "namespace blink {\n\nclass Rows final : public Other {};\n")
        self.tree.write("common/wire/wire.cc", "namespace blink {\nenum class Rows { kOne };\n")
        self.finds("types", ("common/wire/wire.cc:2", "blink::Rows is defined in common/base/base.h:2 too"),
                   ("common/wire/wire.h:3", "blink::Rows is defined in common/base/base.h:2 too"))

    def test_types_of_other_namespaces_within_others_or_only_declared_may_have_the_name(self):
        self.tree.write("common/base/base.h", "namespace blink {\nstruct Rows {\n};\n}  // namespace blink\n")
        self.tree.write("common/wire/wire.h", "namespace blink::x {\nstruct Rows {\n};\n}  // namespace blink::x\n"
                        "namespace blink {\nstruct Rows;\nclass Table {\n  struct Rows {};\n};\n"
                        "namespace {\nstruct Rows {};\n}  // namespace\n}  // namespace blink\n")
        self.passes("types")


class Proto(LintTest):
    def test_a_tree_that_follows_it_passes(self):
        self.passes("proto")

    def test_a_message_without_a_comment_and_a_wrong_name_are_found(self):
        self.passes("proto")
        self.tree.write("proto/blink/v1/one.proto", 'syntax = "proto3";\n\npackage blink.v1;\n\n'
                                                    "message One {\n  string TheName = 1;\n}\n")
        self.finds("proto", ("proto/blink/v1/one.proto:5", "comment"), ("proto/blink/v1/one.proto:6", "the_name"))


class Tidy(LintTest):
    def setUp(self):
        super().setUp()
        self.build = self.tree.root / "build"
        source = "common/wire/move.cc"
        self.build.mkdir()
        (self.build / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.build), "file": str(self.tree.root / source),
             "command": f"c++ -std=c++20 -I{self.tree.root} -o move.o -c {self.tree.root / source}"}]))
        self.options = ("--build", str(self.build))
        self.header("inline int Length(const char* text) { return text ? 1 : 0; }")
        self.tree.write(source, '#include "common/wire/length.h"\n\n#include <string>\n#include <utility>\n\n'
                                "int Move(std::string text) {\n  const std::string moved = std::move(text);\n"
                                "  return Length(moved.c_str());\n}\n")

    def header(self, line):
        self.tree.write("common/wire/length.h", f"#pragma once\n{line}\n")

    def test_a_use_after_a_move_is_found_and_a_header_is_looked_at_again(self):
        self.passes("tidy", *self.options)
        stamps = os.listdir(self.tree.cache / "blink/tidy")
        self.assertEqual(len(stamps), 1)
        self.passes("tidy", *self.options)  # from the cache
        self.assertEqual(os.listdir(self.tree.cache / "blink/tidy"), stamps)
        self.header("inline int Length(const char* text) { return text == 0; }")
        self.finds("tidy", ("common/wire/length.h:2", "modernize-use-nullptr"), options=self.options)
        source = self.tree.root / "common/wire/move.cc"
        source.write_text(source.read_text().replace("moved.c_str()", "text.c_str()"))
        self.header("int Length(const char* text);")
        self.finds("tidy", ("common/wire/move.cc:8", "bugprone-use-after-move"), options=self.options)

    def test_files_that_the_time_does_not_reach_are_a_skip_and_not_a_pass(self):
        if shutil.which("clang-tidy-14") is None:
            self.skipTest("clang-tidy-14 is not installed")
        run = self.tree.lint("tidy", *self.options, "--minutes", "0")
        self.assertEqual(run.returncode, 77)
        self.assertIn("SKIPPED tidy: 1 of 1 files were not reached in 0 minutes", run.stdout)
        self.passes("tidy", *self.options)
        run = self.tree.lint("tidy", *self.options, "--minutes", "0")
        self.assertEqual((run.returncode, run.stdout), (0, ""))


class CommandLine(LintTest):
    def test_an_unknown_check_is_refused(self):
        run = self.tree.lint("spelling")
        self.assertEqual(run.returncode, 2)
        self.assertIn("there is no check spelling", run.stdout)


if __name__ == "__main__":
    program = unittest.main(exit=False)
    skipped = len(program.result.skipped)
    for test, reason in program.result.skipped:
        print(f"SKIPPED {test.id()}: {reason}")
    sys.exit(1 if not program.result.wasSuccessful() else 77 if skipped == program.result.testsRun else 0)
