"""`cmake --install` into a folder of its own: programs start there, and a project builds against the libraries there.

    install_test.py BUILD_FOLDER GENERATOR
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR, GENERATOR = pathlib.Path(sys.argv.pop(1)).resolve(), sys.argv.pop(1)


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD_DIR, "--prefix", cls.prefix)
        cls.node_only = not (cls.prefix / "bin" / "blink-aggregator").exists()

    def test_the_programs_start(self):
        for name in ("blink-node", *(() if self.node_only else ("blink", "blink-aggregator"))):
            self.assertRegex(run(self.prefix / "bin" / name, "--version", cwd=self.folder), r"\d+\.\d+\.\d+")

    def test_pages_for_man_and_completions_are_installed(self):
        for name in ("blink-node", *(() if self.node_only else ("blink", "blink-aggregator"))):
            page = self.prefix / "share/man/man1" / f"{name}.1"
            self.assertEqual(page.read_text(), run(self.prefix / "bin" / name, "--generate", "man"))
            completion = self.prefix / "share/bash-completion/completions" / name
            self.assertIn(f"complete -o default -F _{name.replace('-', '_')} {name}", completion.read_text())

    def test_the_programs_prefer_the_torch_of_the_prefix(self):
        if not (self.prefix / "bin" / "blink-worker").exists():
            self.skipTest("built without LibTorch")
        for name in ("blink-worker", "blink-simulate"):
            self.assertRegex(run(self.prefix / "bin" / name, "--version"), r"\d+\.\d+\.\d+")
            dynamic = run("readelf", "-d", self.prefix / "bin" / name)
            self.assertRegex(dynamic, r"\[\$ORIGIN/\.\./lib[^:]*/blink/torch/lib:")

    def test_blink_loads_no_torch_and_finds_the_program_that_does(self):
        if not (self.prefix / "bin" / "blink-simulate").exists():
            self.skipTest("built without LibTorch")
        blink = self.prefix / "bin" / "blink"
        self.assertNotIn("torch", run("ldd", blink))
        simulate = (blink, "simulate", "--dataset", self.folder / "absent", "--epsilon", "1")
        with self.assertRaisesRegex(AssertionError, "absent"):
            run(*simulate)
        (self.prefix / "bin" / "blink-simulate").rename(self.folder / "elsewhere")
        self.addCleanup((self.folder / "elsewhere").rename, self.prefix / "bin" / "blink-simulate")
        with self.assertRaisesRegex(AssertionError, "bin/blink-simulate: No such file or directory"):
            run(*simulate)

    def test_the_python_commands_find_their_files(self):
        if self.node_only:
            self.skipTest("built without blink")
        for name in ("sweep", "report"):
            self.assertIn(f"usage: blink {name}", run(self.prefix / "bin" / "blink", name, "--help", cwd=self.folder))
        if not (self.prefix / "bin" / "blink-simulate").exists():
            return
        sweep = (self.prefix / "bin" / "blink", "sweep", "--dataset", self.folder / "absent", "--output", "x")
        with self.assertRaisesRegex(AssertionError, "absent"):
            run(*sweep, "--profile", "quick", "--dry-run", cwd=self.folder)

    def test_a_project_uses_the_libraries(self):
        build = self.folder / "build"
        run("cmake", "-S", SOURCE_DIR / "tests" / "install", "-B", build, "-G", GENERATOR,
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertRegex(run(build / "private_row"), r"^\d+ bytes for 1000 nodes, epsilon [56]\.\d+ at most\n$")
        if not self.node_only:
            self.assertRegex(run(build / "links"), r"^\d+\.\d links are expected, and 200 are there\n$")

    def test_a_project_of_another_minor_version_is_refused(self):
        project = self.folder / "other"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p CXX)\n"
                                                "find_package(blink 0.9 REQUIRED)\n")
        with self.assertRaisesRegex(AssertionError, "compatible"):
            run("cmake", "-S", project, "-B", project / "build", "-G", GENERATOR, f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_every_header_finds_the_headers_that_it_includes(self):
        include = next(self.prefix.glob("include")) / "blink"
        headers = sorted(path for path in include.rglob("*.h") if not path.name.endswith(".pb.h"))
        self.assertGreater(len(headers), 20)
        for header in headers:
            for name in re.findall(r'^#include "((?:common|aggregator_server|node_client|tools|blink)/[^"]+)"',
                                   header.read_text(), re.MULTILINE):
                self.assertTrue((include / name).exists(), f"{header.relative_to(include)} includes {name}")

    def test_nothing_installed_names_the_folders_of_the_build(self):
        for path in self.prefix.rglob("*.cmake"):
            for folder in (SOURCE_DIR, BUILD_DIR):
                self.assertNotIn(str(folder), path.read_text(), path)

    def test_licence_and_documents_are_there(self):
        documents = self.prefix / "share" / "doc" / "blink"
        for name in ("LICENSE", "README.md", "docs/VERSIONS.md", "deploy/aggregator.conf"):
            self.assertTrue((documents / name).exists(), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
