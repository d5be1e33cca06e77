"""The Debian packages in bare containers, and their services under systemd.

scripts/package makes the packages, of the programs in build/release. Skips, saying why, where podman does not run.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import blinktest
from blinktest import SOURCE_DIR, BlinkTest, Deployment, Process, wait_until
from containers_test import BASE, command, podman, require_podman

PACKAGES = SOURCE_DIR / "build" / "packages"
BARE, SYSTEMD = "localhost/blink-packages:bare", "localhost/blink-packages:systemd"
AGGREGATOR_CONF = "/etc/blink/aggregator/aggregator.conf"
DATA, JOURNALS = "/var/lib/blink-aggregator", "/var/lib/blink-node"


def make_packages(release, *without):
    leave_out = [part for name in without for part in ("--without", name)]
    command(SOURCE_DIR / "scripts" / "package", "--release", release, *leave_out, timeout=1500)


def package(name, release):
    """The file as a container sees it."""
    found = list(PACKAGES.glob(f"blink-{name}_*-{release}_amd64.deb"))
    if len(found) != 1:
        raise AssertionError(f"blink-{name} of release {release}: {found}")
    return f"/packages/{found[0].name}"


def prepare_images():
    """Two images in which everything that the packages depend on is installed, and blink-torch. They are those of an
    earlier class when the packages are the same."""
    require_podman()
    if podman("run", "--rm", BASE, "uname", "-m").stdout.strip() != "x86_64":
        raise unittest.SkipTest("the packages of this test are for x86-64")
    # that of LibTorch takes minutes, and has nothing of the sources
    make_packages("1", *(["torch"] if list(PACKAGES.glob("blink-torch_*-1_amd64.deb")) else []))
    make_packages("2", "torch")
    files = [PACKAGES / pathlib.Path(package(part, "1")).name for part in ("node", "aggregator", "tools", "torch")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    has = podman("image", "inspect", "--format", "{{.Labels.packages}}", SYSTEMD, check=False).stdout.strip()
    if has == digest:
        return
    name = "blink-packages-base"
    podman("rm", "-f", "-t", "1", name, check=False)
    podman("run", "-d", "--network=host", "-v", f"{PACKAGES}:/packages:ro", "--name", name, BASE, "sleep", "infinity")
    try:
        def inside(*arguments):
            podman("exec", "-e", "DEBIAN_FRONTEND=noninteractive", name, *arguments, timeout=900)

        inside("apt-get", "update", "-qq")

        def install(*what):
            inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *what)

        install(*[f"/packages/{path.name}" for path in files])
        inside("dpkg", "--purge", "blink-node", "blink-aggregator", "blink-tools")
        podman("commit", "-q", name, BARE, timeout=600)
        install("systemd", "systemd-sysv", "dbus", "procps")
        podman("commit", "-q", "-c", f"LABEL packages={digest}", name, SYSTEMD, timeout=600)
    finally:
        podman("rm", "-f", "-t", "1", name, check=False)


class Machine(BlinkTest):
    """A container of its own for each test."""

    image, program, options = BARE, ("sleep", "infinity"), ()

    @classmethod
    def setUpClass(cls):
        prepare_images()

    def setUp(self):
        name = "blink-packages-" + re.sub(r"[^a-z0-9]", "-", self.id().rsplit(".", maxsplit=1)[1])[:40]
        podman("rm", "-f", "-t", "1", name, check=False)
        podman("run", "-d", *self.options, "-v", f"{PACKAGES}:/packages:ro", "--name", name, self.image, *self.program)
        self.name = name
        self.addCleanup(podman, "rm", "-f", "-t", "1", name, check=False)

    def run_in(self, *arguments, code=0, user=None):
        prefix = ["runuser", "-u", user, "--"] if user else []
        done = podman("exec", "-e", "DEBIAN_FRONTEND=noninteractive", self.name, *prefix, *arguments, check=False,
                      timeout=blinktest.PATIENCE_SECONDS)
        if code is not None and done.returncode != code:
            raise AssertionError(f"$ {' '.join(map(str, arguments))}\nexit code {done.returncode}\n"
                                 f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout + done.stderr

    def shell(self, line, **options):
        return self.run_in("sh", "-c", line, **options)

    def install(self, release, *names):
        return self.run_in("dpkg", "--force-confold", "-i", *[package(name, release) for name in names])

    def mode(self, path):
        return self.run_in("stat", "-c", "%U:%G %a", path).strip()

    def exists(self, path):
        return self.shell(f"test -e {path} && echo yes || echo no").strip() == "yes"

    def deploy(self):
        """What an operator does by docs/INSTALLING.md, for 12 nodes; returns the kit's name."""
        self.shell("""set -e
            cd /root
            blink provision simulate --out OUT --deployment demo --nodes 12 --kits 1 --aggregator 127.0.0.1:7443
            blink dataset generate --output DIR --nodes 12 --mean-degree 2 --features 12 --words-per-node 3 --classes 2
            blink dataset shard --dataset DIR --out OUT
            cp OUT/aggregator/roster.json /etc/blink/aggregator/
            cp OUT/aggregator/tls/* /etc/blink/aggregator/tls/
            cp -r OUT/aggregator/attributes /var/lib/blink-aggregator/
            sed -i 's/^# attributes=/attributes=/' /etc/blink/aggregator/aggregator.conf
            chown -R root:blink-aggregator /etc/blink/aggregator
            chmod -R u=rwX,g=rX,o= /etc/blink/aggregator
            chown -R blink-aggregator: /var/lib/blink-aggregator
            cp -r OUT/kits/nodes-0-11 /etc/blink/nodes/clinic
            chown -R blink-node:blink-node /etc/blink/nodes/clinic
            chmod -R u=rwX,go= /etc/blink/nodes/clinic""")
        self.run_in("blink-node", "init", "--kit", "/etc/blink/nodes/clinic", "--journal", f"{JOURNALS}/clinic",
                    user="blink-node")
        self.run_in("blink-aggregator", "--config", AGGREGATOR_CONF, "--check-config", user="blink-aggregator")
        self.run_in("blink-node", "run", "--kit", "/etc/blink/nodes/clinic", "--journal", f"{JOURNALS}/clinic",
                    "--check-config", user="blink-node")

    def ready_round(self):
        """Opens a round, and waits for its result."""
        conf = "/root/OUT/operator/operator.conf"
        wait_until(lambda: "[" in self.run_in("blink", "round", "list", "--config", conf, "--json", code=None),
                   "an answer of the aggregator", pause=0.5)
        round_id = self.run_in("blink", "round", "create", "--config", conf, "--epsilon", "6", "--open-for", "10m",
                               "--epochs", "5").strip()

        def status():
            return json.loads(self.run_in("blink", "round", "status", "--config", conf, "--json", round_id))["state"]

        wait_until(lambda: status() in ("ready", "failed"), "the end of the round", pause=1)
        self.assertEqual(status(), "ready")
        self.run_in("blink", "round", "result", "--config", conf, round_id, "--output", "/root/RESULT")
        return round_id


class Packages(Machine):
    """Without systemd: what a package puts there, and what it leaves."""

    def test_an_installation_makes_users_folders_and_configuration(self):
        self.install("1", "node", "aggregator", "tools")
        for program in ("blink", "blink-aggregator", "blink-worker", "blink-node", "blink-simulate"):
            self.assertRegex(self.run_in(program, "--version"), r"^blink.* 0\.\d+\.\d+ \(commit ")
        self.assertIn("usage", self.run_in("blink", "sweep", "--help").lower())
        for user, home in (("blink-aggregator", DATA), ("blink-node", JOURNALS)):
            self.assertRegex(self.run_in("getent", "passwd", user), f":{home}:/usr/sbin/nologin")
            self.assertEqual(self.mode(home), f"{user}:{user} 700")
        self.assertEqual(self.mode("/etc/blink/aggregator"), "root:blink-aggregator 750")
        self.assertEqual(self.mode("/etc/blink/aggregator/tls"), "root:blink-aggregator 750")
        self.assertEqual(self.mode("/etc/blink/nodes"), "root:blink-node 750")
        self.assertEqual(self.mode(AGGREGATOR_CONF), "root:root 644")
        conffiles = self.run_in("dpkg-query", "-W", "-f", "${Conffiles}", "blink-aggregator", "blink-node")
        for path in (AGGREGATOR_CONF, "/etc/default/blink-aggregator", "/etc/default/blink-node"):
            self.assertIn(path, conffiles)
        self.assertIn("roster.json", self.run_in("blink-aggregator", "--config", AGGREGATOR_CONF, "--check-config",
                                                 code=blinktest.BAD_INPUT))
        for page in ("blink.1", "blink-node.1", "blink-aggregator.1", "blink-sweep.1"):
            self.assertTrue(self.exists(f"/usr/share/man/man1/{page}.gz"), page)
        self.assertEqual(self.run_in("dpkg", "--verify", "blink-node", "blink-aggregator", "blink-tools"), "")

    def test_the_programs_look_for_libraries_in_no_folder_of_the_build(self):
        self.install("1", "node", "aggregator", "tools")
        for program in ("blink-worker", "blink-simulate", "blink-node", "blink-aggregator", "blink"):
            self.run_in("cp", f"/usr/bin/{program}", "/tmp/program")
            self.assertNotIn(str(SOURCE_DIR), self.shell("grep -a -o '[^[:cntrl:]]*/torch/lib' /tmp/program || true"))
            self.assertNotIn("not found", self.run_in("ldd", f"/usr/bin/{program}"), program)

    def test_an_upgrade_keeps_changed_configuration_and_data(self):
        self.install("1", "node", "aggregator", "tools")
        self.shell(f"echo 'worker-threads-x=1' >> {AGGREGATOR_CONF}; echo mine > {DATA}/kept; "
                   f"echo journal > {JOURNALS}/kept; chmod 0755 {JOURNALS}")
        self.install("2", "node", "aggregator", "tools")
        self.assertIn("-2\n", self.run_in("dpkg-query", "-W", "blink-aggregator"))
        self.assertIn("worker-threads-x=1", self.run_in("cat", AGGREGATOR_CONF))
        self.assertEqual(self.run_in("cat", f"{DATA}/kept", f"{JOURNALS}/kept"), "mine\njournal\n")
        self.assertEqual(self.mode(JOURNALS), "blink-node:blink-node 755", "the administrator's mode")

    def test_a_removal_keeps_configuration_and_data(self):
        self.install("1", "node", "aggregator", "tools")
        self.shell(f"echo mine > {DATA}/kept; echo journal > {JOURNALS}/kept")
        self.run_in("dpkg", "--remove", "blink-node", "blink-aggregator", "blink-tools")
        for path in (AGGREGATOR_CONF, "/etc/default/blink-node", f"{DATA}/kept", f"{JOURNALS}/kept"):
            self.assertTrue(self.exists(path), path)
        self.assertFalse(self.exists("/usr/bin/blink-node"))

    def test_a_purge_keeps_what_cannot_be_made_again_and_says_so(self):
        self.install("1", "node", "aggregator")
        self.shell(f"echo mine > {DATA}/kept; echo key > /etc/blink/aggregator/tls/server.key; "
                   f"mkdir {JOURNALS}/clinic /etc/blink/nodes/clinic")
        told = self.run_in("dpkg", "--purge", "blink-node", "blink-aggregator")
        for path in (DATA, JOURNALS, "/etc/blink/aggregator", "/etc/blink/nodes"):
            self.assertIn(path, told)
        for path in (f"{DATA}/kept", "/etc/blink/aggregator/tls/server.key", f"{JOURNALS}/clinic"):
            self.assertTrue(self.exists(path), path)
        self.assertFalse(self.exists(AGGREGATOR_CONF))
        self.run_in("getent", "passwd", "blink-node", "blink-aggregator")

    def test_a_purge_of_what_was_never_used_leaves_nothing(self):
        self.install("1", "node", "aggregator")
        self.run_in("dpkg", "--purge", "blink-node", "blink-aggregator")
        for path in ("/etc/blink", DATA, JOURNALS, "/etc/default/blink-node"):
            self.assertFalse(self.exists(path), path)
        self.run_in("getent", "passwd", "blink-node", code=2)
        self.run_in("getent", "passwd", "blink-aggregator", code=2)

    def test_the_same_sources_give_the_same_package(self):
        def digest():
            make_packages("3", "aggregator", "tools", "torch")
            return hashlib.sha256((PACKAGES / pathlib.Path(package("node", "3")).name).read_bytes()).hexdigest()

        self.assertEqual(digest(), digest())
        (PACKAGES / pathlib.Path(package("node", "3")).name).unlink()

    def test_lintian_finds_no_error(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is not installed: apt-get install lintian")
        files = [PACKAGES / pathlib.Path(package(name, "1")).name for name in ("node", "aggregator", "tools")]
        done = command("lintian", "--allow-root", "--fail-on", "error,warning", *files, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Services(Machine):
    """Under systemd: a whole round of the two services, their restarts, and what they may not."""

    # with these rights systemd can make the file systems of a service, so that the whole sandbox is in force
    image, program, options = SYSTEMD, ("/sbin/init",), ("--systemd=always", "--cap-add=SYS_ADMIN,SYS_PTRACE")

    def setUp(self):
        super().setUp()
        wait_until(lambda: self.run_in("systemctl", "is-system-running", code=None).strip() in ("running", "degraded"),
                   "systemd in the container", pause=0.5)

    def change(self, unit, *lines):
        """Lines of [Service] that count instead of the package's."""
        folder, text = f"/run/systemd/system/{unit}.service.d", "\n".join(("[Service]", *lines))
        self.shell(f"mkdir -p {folder}; cat > {folder}/test.conf <<'END'\n{text}\nEND\nsystemctl daemon-reload")

    def show(self, unit, name):
        return self.run_in("systemctl", "show", "--value", "-p", name, unit).strip()

    def test_a_round_goes_from_the_packages_to_a_result(self):
        self.install("1", "node", "aggregator", "tools")
        for unit in ("blink-aggregator", "blink-node@clinic"):
            self.assertEqual(self.show(unit, "ActiveState"), "inactive", "nothing starts by itself")
        self.deploy()
        self.run_in("systemctl", "enable", "--now", "blink-aggregator", "blink-node@clinic")
        self.assertIn("serving on port 7443", self.show("blink-aggregator", "StatusText"))
        self.assertIn("nodes-0-11 of deployment demo", self.show("blink-node@clinic", "StatusText"))
        for unit in ("blink-aggregator", "blink-node@clinic"):
            status = self.run_in("cat", f"/proc/{self.show(unit, 'MainPID')}/status")
            for line in ("Seccomp:\t2", "NoNewPrivs:\t1", "CapBnd:\t0000000000000000"):
                self.assertIn(line, status, unit)
        self.ready_round()

        before = self.show("blink-aggregator", "MainPID")
        self.run_in("systemctl", "reload", "blink-aggregator")
        self.assertEqual(self.show("blink-aggregator", "MainPID"), before)
        self.shell("mv /etc/blink/aggregator/roster.json /root/aside")
        self.run_in("systemctl", "reload", "blink-aggregator", code=1)
        self.assertEqual(self.show("blink-aggregator", "MainPID"), before, "goes on with what it has")
        self.shell("mv /root/aside /etc/blink/aggregator/roster.json")

        self.install("2", "node", "aggregator")
        for unit in ("blink-aggregator", "blink-node@clinic"):
            self.assertEqual(self.show(unit, "ActiveState"), "active")
        self.assertNotEqual(self.show("blink-aggregator", "MainPID"), before, "an upgrade starts the new program")

        self.run_in("dpkg", "--remove", "blink-node", "blink-aggregator")
        self.assertEqual(self.shell("pgrep -c '^blink-' || true").strip(), "0")
        self.assertEqual(self.shell("ls /etc/systemd/system/multi-user.target.wants | grep blink || true"), "")
        self.assertTrue(self.exists(f"{JOURNALS}/clinic/journal.blj"))
        self.assertTrue(self.exists(f"{DATA}/data/store"))

    def test_two_deployments_have_a_user_each(self):
        self.install("1", "aggregator", "tools")
        for name, port in (("clinic", 7501), ("bank", 7502)):
            self.shell(f"""set -e
                adduser --system --group --quiet --home /var/lib/blink-aggregators/{name} --no-create-home blink-{name}
                blink provision simulate --out /root/{name} --deployment {name} --nodes 12 --kits 1 \
                  --aggregator 127.0.0.1:{port}
                blink dataset generate --output /root/{name}-DIR --nodes 12 --mean-degree 2 --features 12 \
                  --words-per-node 3 --classes 2
                blink dataset shard --dataset /root/{name}-DIR --out /root/{name}
                install -d -o root -g blink-{name} -m 0750 /etc/blink/aggregators/{name}
                cp -r /root/{name}/aggregator/roster.json /root/{name}/aggregator/tls /etc/blink/aggregators/{name}/
                sed -e 's/^deployment=.*/deployment="{name}"/' -e 's/^listen=.*/listen="127.0.0.1:{port}"/' \
                  -e 's/^http-listen=.*/http-listen="127.0.0.1:{port + 100}"/' \
                  -e 's|/var/lib/blink-aggregator/|/var/lib/blink-aggregators/{name}/|' \
                  {AGGREGATOR_CONF} > /etc/blink/aggregators/{name}/aggregator.conf
                chown -R root:blink-{name} /etc/blink/aggregators/{name}
                chmod -R u=rwX,g=rX,o= /etc/blink/aggregators/{name}""")
            self.run_in("systemctl", "enable", "--now", f"blink-aggregator@{name}")
            self.assertIn(f"serving on port {port}", self.show(f"blink-aggregator@{name}", "StatusText"))
        own = "/var/lib/blink-aggregators/clinic/data/audit.log"
        other = own.replace("clinic", "bank")
        self.run_in("cat", own, user="blink-clinic")
        for path in (other, "/etc/blink/aggregators/bank/tls/server.key"):
            self.assertIn("Permission denied", self.run_in("cat", path, user="blink-clinic", code=1))
        pid = self.show("blink-aggregator@bank", "MainPID")
        self.assertIn("Permission denied", self.run_in("ls", f"/proc/{pid}/root/", user="blink-clinic", code=2))
        for name in ("clinic", "bank"):
            self.assertIn("[", self.run_in("blink", "round", "list", "--json", "--config",
                                           f"/root/{name}/operator/operator.conf"))
        self.run_in("kill", "-KILL", pid)
        self.assertEqual(self.show("blink-aggregator@clinic", "ActiveState"), "active")
        self.install("2", "aggregator")
        self.assertEqual(self.show("blink-aggregator@clinic", "ActiveState"), "active", "with the new program")
        self.run_in("dpkg", "--purge", "blink-aggregator")
        self.assertEqual(self.shell("pgrep -c '^blink-' || true").strip(), "0")
        self.assertEqual(self.shell("ls /etc/systemd/system/multi-user.target.wants | grep blink || true"), "")
        self.assertTrue(self.exists(own), "a purge keeps what cannot be made again")

    def test_a_service_writes_nowhere_but_to_its_state(self):
        self.install("1", "node", "aggregator", "tools")
        elsewhere = ("/etc/blink", "/var/lib", "/usr/bin", "/root", "/home", "/tmp", "/run")
        for unit, state in (("blink-aggregator", DATA), ("blink-node@clinic", f"{JOURNALS}/clinic")):
            self.change(unit, "Type=oneshot", "Restart=no", "ExecStart=",
                        f"ExecStart=/bin/sh -c 'touch {state}/mine; for folder in {' '.join(elsewhere)}; do "
                        "touch $$folder/mine; done; true'")
            self.run_in("systemctl", "start", unit)
            self.assertTrue(self.exists(f"{state}/mine"), unit)
            for folder in elsewhere:
                self.assertFalse(self.exists(f"{folder}/mine"), f"{unit} {folder}")

    def test_a_service_that_is_stuck_is_started_again(self):
        self.install("1", "node", "aggregator", "tools")
        self.deploy()
        self.change("blink-aggregator", "WatchdogSec=8", "RestartSec=1", "TimeoutStopSec=5")
        self.run_in("systemctl", "start", "blink-aggregator")
        before = self.show("blink-aggregator", "MainPID")
        self.shell("sleep 18")
        self.assertEqual(self.show("blink-aggregator", "MainPID"), before, "one that answers is left alone")
        self.run_in("kill", "-STOP", before)
        wait_until(lambda: self.show("blink-aggregator", "MainPID") not in (before, "0") and
                   self.show("blink-aggregator", "ActiveState") == "active", "another aggregator", pause=0.5)

    def test_a_crash_is_mended_and_a_refusal_is_not(self):
        self.install("1", "node", "aggregator", "tools")
        self.deploy()
        self.run_in("systemctl", "start", "blink-aggregator", "blink-node@clinic")
        for unit in ("blink-aggregator", "blink-node@clinic"):
            self.change(unit, "RestartSec=1")
        for unit in ("blink-aggregator", "blink-node@clinic"):
            before = self.show(unit, "MainPID")
            self.run_in("kill", "-KILL", before)
            wait_until(lambda unit=unit, before=before: self.show(unit, "MainPID") not in (before, "0") and
                       self.show(unit, "ActiveState") == "active", f"{unit} again", pause=0.5)
        self.run_in("systemctl", "stop", "blink-node@clinic")
        self.assertEqual(self.show("blink-node@clinic", "Result"), "success")
        self.shell(f"mv {JOURNALS}/clinic/journal.blj /root/")
        self.run_in("systemctl", "start", "blink-node@clinic", code=1)
        self.assertEqual(self.show("blink-node@clinic", "ExecMainStatus"), str(blinktest.JOURNAL))
        self.shell("sleep 2")
        self.assertEqual(self.show("blink-node@clinic", "ActiveState"), "failed", "a lost journal is not tried again")
        self.run_in("systemctl", "stop", "blink-aggregator")
        self.shell("rm /etc/blink/aggregator/roster.json")
        self.run_in("systemctl", "start", "blink-aggregator", code=1)
        self.assertEqual(self.show("blink-aggregator", "ExecMainStatus"), str(blinktest.BAD_INPUT))
        self.assertEqual(self.show("blink-aggregator", "NRestarts"), "0")


class Arm64(BlinkTest):
    """The node for 64-bit ARM, which qemu runs here."""

    def setUp(self):
        for program in ("aarch64-linux-gnu-g++", "qemu-aarch64-static"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed: scripts/install-deps --arm64")
        command(SOURCE_DIR / "scripts" / "package", "--arm64", timeout=1500)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-arm64-"))
        self.addCleanup(shutil.rmtree, folder, True)
        command("dpkg", "-x", next(PACKAGES.glob("blink-node_*-1_arm64.deb")), folder)
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        self.node = ["qemu-aarch64-static", "-L", cache / "blink" / "arm64" / "sysroot",
                     folder / "usr" / "bin" / "blink-node"]

    def test_its_reports_are_taken_and_its_journals_are_read_elsewhere(self):
        with Deployment(nodes=60, kits=3) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(6, 0.1, "10m", 5)
            for name in blink.kits():
                blink.processes[name] = Process(
                    name, [*self.node, "run", "--kit", blink.kit(name), "--journal", blink.journal(name)],
                    blink.folder / f"{name}.log")
            blink.wait_for_fleet()
            blink.wait_for_state(round_id, "ready")
            self.assertEqual(blink.draws(), 60)


class Units(BlinkTest):
    """The services as systemd reads them."""

    def setUp(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed: apt-get install systemd")

    def test_systemd_finds_no_fault_and_little_exposure(self):
        for unit in sorted((SOURCE_DIR / "deploy" / "systemd").glob("*.service")):
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True,
                                  check=False)
            faults = [line for line in done.stderr.splitlines() if "blink" in line and "is not executable" not in line]
            self.assertEqual(faults, [], unit)
            done = command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit, check=False)
            self.assertEqual(done.returncode, 0, f"more exposed than 2.0\n{done.stdout}")

    def test_the_service_of_each_deployment_is_that_of_a_single_one_but_for_its_places(self):
        services = SOURCE_DIR / "deploy" / "systemd"
        single = (services / "blink-aggregator.service").read_text()
        each = (services / "blink-aggregator@.service").read_text()
        for of_each, of_one in (("blink-%i", "blink-aggregator"), ("blink-aggregators/%i", "blink-aggregator"),
                                ("blink/aggregators/%i", "blink/aggregator")):
            each = each.replace(of_each, of_one)

        def meant(text):
            return [line for line in text.splitlines() if not line.startswith(("#", "Description="))]

        self.assertEqual(meant(each), meant(single))

    def test_the_configuration_of_the_package_is_one(self):
        done = blinktest.run("blink-aggregator", "--config", SOURCE_DIR / "deploy" / "debian" / "aggregator.conf",
                             "--print-config")
        self.assertEnds(done, blinktest.OK, f'data="{DATA}/data"')

    def test_no_service_is_started_again_for_what_a_start_does_not_mend(self):
        for name, codes in (("blink-aggregator", "2 3 5"), ("blink-aggregator@", "2 3 5"),
                            ("blink-node@", "2 3 4 5 7")):
            text = (SOURCE_DIR / "deploy" / "systemd" / f"{name}.service").read_text()
            self.assertIn(f"\nRestartPreventExitStatus={codes}\n", text)
            self.assertIn("\nRestart=on-failure\n", text)


if __name__ == "__main__":
    blinktest.main()
