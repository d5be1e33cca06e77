"""scripts/sbom: what it writes is SPDX 2.3, says what it was given, and it refuses lists that are not whole."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import blinktest
from blinktest import SOURCE_DIR, BlinkTest, Finished

TOOLS = SOURCE_DIR / ".deps" / "spdx"
PACKAGES = ("libssl3:amd64\t3.0.19-1~deb12u2\tamd64\topenssl\t3.0.19-1~deb12u2\n"
            "libstdc++6:amd64\t12.2.0-14+deb12u1\tamd64\tgcc-12\t12.2.0-14+deb12u1\n"
            "adduser\t3.134\tall\tadduser\t3.134\n")
HEADERS = "libcli11-dev\t2.3.2+ds-1\tall\tcli11\t2.3.2+ds-1\n"
FORMAT = "${binary:Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n"


class Documents(BlinkTest):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.wheels = self.folder / "wheels"
        self.wheel("torch-2.11.0", "Metadata-Version: 2.4\nName: torch\nVersion: 2.11.0\nLicense: BSD-3-Clause\n\n")

    def wheel(self, name, metadata):
        (self.wheels / f"{name}.dist-info").mkdir(parents=True)
        (self.wheels / f"{name}.dist-info" / "METADATA").write_text(metadata)

    def ask(self, packages, *arguments, epoch="1700000000", name="blink-aggregator-cpu", alone=True):
        """What it writes of this list; alone, it asks no apt, dpkg or git of this machine."""
        command = [sys.executable, "-B", SOURCE_DIR / "scripts" / "sbom", "--name", name, "--packages", "-", *arguments]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, **({"PATH": str(self.folder)} if alone else {})}
        done = subprocess.run(command, input=packages, capture_output=True, text=True, check=False, env=environment)
        return Finished(command, done.returncode, done.stdout, done.stderr)

    def made(self, packages=PACKAGES, *arguments, **options):
        done = self.ask(packages, *arguments, **options)
        self.assertEnds(done, blinktest.OK)
        return done.json()

    def whole(self):
        headers = self.folder / "headers"
        headers.write_text(HEADERS)
        return self.made(PACKAGES, "--wheels", self.wheels, "--compiled-in", headers)

    def test_it_names_each_package_with_its_version_and_source(self):
        document = self.whole()
        packages = {package["name"]: package for package in document["packages"]}
        self.assertEqual({name: package["versionInfo"] for name, package in packages.items()},
                         {"blink-aggregator-cpu": "0.1.0", "libssl3": "3.0.19-1~deb12u2", "adduser": "3.134",
                          "libstdc++6": "12.2.0-14+deb12u1", "torch": "2.11.0", "libcli11-dev": "2.3.2+ds-1"})
        self.assertIn("source package openssl 3.0.19-1~deb12u2", packages["libssl3"]["sourceInfo"])
        self.assertEqual(packages["libstdc++6"]["externalRefs"][0]["referenceLocator"],
                         "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12")
        self.assertIn("BSD-3-Clause", packages["torch"]["licenseComments"])

    def test_every_package_is_related_to_the_image(self):
        document = self.whole()
        own = document["packages"][0]["SPDXID"]
        related = [(relation["relationshipType"], relation["relatedSpdxElement"]) for relation in
                   document["relationships"]]
        self.assertEqual([kind for kind, _ in related], ["DESCRIBES"] + ["CONTAINS"] * 4 + ["STATIC_LINK"])
        self.assertEqual([other for _, other in related], [own] + [package["SPDXID"] for package in
                                                                   document["packages"][1:]])

    def test_identifiers_are_valid_and_differ(self):
        both = PACKAGES + PACKAGES.splitlines()[0].replace("amd64", "arm64") + "\n"
        found = [package["SPDXID"] for package in self.made(both)["packages"]]
        self.assertEqual(len(found), len(set(found)))
        for one in found:
            self.assertRegex(one, r"^SPDXRef-[A-Za-z0-9.-]+$")

    def test_the_same_input_gives_the_same_document(self):
        self.assertEqual(self.made(), self.made())
        turned = "\n".join(reversed(PACKAGES.splitlines())) + "\n"
        self.assertEqual(self.made(turned), self.made())
        self.assertNotEqual(self.made(PACKAGES + HEADERS)["documentNamespace"], self.made()["documentNamespace"])

    def test_what_this_machine_knows_of_a_package_is_added(self):
        if not shutil.which("dpkg-query"):
            self.skipTest("this machine has no dpkg-query")
        line = subprocess.run(["dpkg-query", "-W", f"-f={FORMAT}", "libc6", "bash"], capture_output=True, text=True,
                              check=True).stdout
        document = self.made(line, alone=False)
        if pathlib.Path("/usr/share/doc/bash/copyright").exists():
            self.assertRegex(document["packages"][1]["licenseComments"], "GPL")
        for package in document["packages"][1:]:
            if "checksums" in package:  # unless apt has newer ones alone
                self.assertRegex(package["checksums"][0]["checksumValue"], r"^[0-9a-f]{64}$")
        other = re.sub(r"\t\d\S*", "\t0.0.1", line)
        for package in self.made(other, alone=False)["packages"][1:]:
            self.assertEqual(package.keys() & {"checksums", "licenseComments"}, set(), "of another version")

    def test_it_is_valid_spdx(self):
        if not TOOLS.is_dir():
            self.skipTest("spdx-tools are not installed: scripts/install-deps --sbom brings them")
        sys.path.insert(0, str(TOOLS))
        from spdx_tools.spdx.parser.parse_anything import parse_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
        path = self.folder / "a.spdx.json"
        document = self.whole()
        path.write_text(json.dumps(document))
        self.assertEqual(validate_full_spdx_document(parse_file(str(path))), [])
        document["packages"][1]["SPDXID"] = "SPDXRef-with_underscore"
        path.write_text(json.dumps(document))
        self.assertNotEqual(validate_full_spdx_document(parse_file(str(path))), [], "the validator finds a mistake")

    def test_lists_that_are_not_whole_are_refused(self):
        for text, what in (("", "names no package"), ("libssl3 3.0\n", "-:1: a line has 5 columns"),
                           (PACKAGES + "x\t1\tall\tx\t\n", "-:4: a line has 5 columns"),
                           (PACKAGES + PACKAGES, "is there twice"), ("Lib\t1\tall\tl\t1\n", "-:1:")):
            self.assertEnds(self.ask(text), blinktest.BAD_INPUT, what)

    def test_folders_without_wheels_are_refused(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for folder in (empty, self.folder / "missing"):
            self.assertEnds(self.ask(PACKAGES, "--wheels", folder), blinktest.BAD_INPUT, "holds no wheel")
        self.wheel("broken", "Metadata-Version: 2.4\n\n")
        self.assertEnds(self.ask(PACKAGES, "--wheels", self.wheels), blinktest.BAD_INPUT, "has no name or version")

    def test_a_package_that_is_in_both_lists_is_refused(self):
        headers = self.folder / "headers"
        headers.write_text(PACKAGES.splitlines()[0] + "\n")
        done = self.ask(PACKAGES, "--compiled-in", headers)
        self.assertEnds(done, blinktest.BAD_INPUT, "the image holds libssl3, too")

    def test_names_and_times_that_spdx_cannot_hold_are_refused(self):
        for name in ("", "blink aggregator", "blink/aggregator:cpu"):
            self.assertEnds(self.ask(PACKAGES, name=name), blinktest.USAGE)
        self.assertEnds(self.ask(PACKAGES, epoch="yesterday"), blinktest.BAD_INPUT, "SOURCE_DATE_EPOCH is yesterday")


if __name__ == "__main__":
    blinktest.main()
