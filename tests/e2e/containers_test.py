"""Images, and fleets in containers. Skips, saying why, where podman does not run.

Environment: BLINK_CONTAINER_SETUP (a script that makes podman work; run when podman is missing), BLINK_TORCH_DIR (a
folder with torch/ and nvidia/, used instead of fetching the wheel again). BLINK_E2E_KEEP keeps containers and volumes.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import blinktest
from blinktest import SOURCE_DIR, BlinkTest, wait_until

NODE, AGGREGATOR = "localhost/blink-node:e2e", "localhost/blink-aggregator:e2e"
BASE = "docker.io/library/debian:bookworm-slim"
COMPOSE_FOLDER = SOURCE_DIR / ".deps" / "podman-compose"


def command(*arguments, timeout=300, check=True, cwd=None, environment=None):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=timeout,
                          check=False, cwd=cwd, env={**os.environ, **(environment or {})})
    if check and done.returncode != 0:
        raise AssertionError(f"$ {' '.join(map(str, arguments))}\nexit code {done.returncode}\n{done.stdout[-6000:]}\n"
                             f"{done.stderr[-6000:]}")
    return done


def podman(*arguments, **options):
    return command("podman", *arguments, **options)


def require_podman():
    setup = os.environ.get("BLINK_CONTAINER_SETUP")
    if shutil.which("podman") is None and setup and os.geteuid() == 0:
        command(setup, timeout=600)
    if shutil.which("podman") is None:
        raise unittest.SkipTest("podman is not installed, and BLINK_CONTAINER_SETUP names no script that installs it")
    try:
        done = podman("run", "--rm", BASE, "true", check=False, timeout=120)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest("podman does not run a container within 120 s") from None
    if done.returncode != 0:
        raise unittest.SkipTest(f"podman cannot run {BASE}: {done.stderr.strip().splitlines()[-1:]}")


def require_images():
    require_podman()
    for image in (NODE, AGGREGATOR):
        if podman("image", "exists", image, check=False).returncode != 0:
            raise unittest.SkipTest(f"the image {image} was not built")


def require_compose():
    if not (COMPOSE_FOLDER / "podman_compose.py").exists():
        raise unittest.SkipTest("podman-compose is missing: scripts/install-deps --containers")


class Images(BlinkTest):
    """Builds both images. The other classes use them."""

    @classmethod
    def setUpClass(cls):
        require_podman()
        cls.cache = pathlib.Path(os.environ.get("CCACHE_DIR") or pathlib.Path.home() / ".cache" / "ccache")
        cls.cache.mkdir(parents=True, exist_ok=True)
        cls.context = pathlib.Path(tempfile.mkdtemp(prefix="blink-context-"))
        cls.addClassCleanup(shutil.rmtree, cls.context, True)
        ignored = shutil.ignore_patterns(".git", ".deps", ".venv", "build", "build-*", "shared", "__pycache__")
        shutil.copytree(SOURCE_DIR, cls.context, ignore=ignored, dirs_exist_ok=True)
        cls.build("node.Dockerfile", NODE)
        torch = os.environ.get("BLINK_TORCH_DIR", "")
        given = ["-v", f"{torch}:/opt/torch-given:ro"] if torch and pathlib.Path(torch, "nvidia").is_dir() else []
        cls.build("aggregator.Dockerfile", AGGREGATOR, "--target", "cpu", *given)

    @classmethod
    def build(cls, dockerfile, tag, *options):
        podman("build", "--network=host", "--format=docker", "-v", f"{cls.cache}:/ccache", *options, "-f",
               cls.context / "deploy" / dockerfile, "-t", tag, cls.context, timeout=1500)

    def size(self, image):
        return json.loads(podman("image", "inspect", image).stdout)[0]["Size"]

    def files(self, image):
        return podman("run", "--rm", "--user", "root", "--entrypoint", "find", image, "/", "-xdev", "-type",
                      "f").stdout.splitlines()

    def test_the_node_image_is_small_and_has_no_torch(self):
        added = self.size(NODE) - self.size(BASE)
        print(f"the node image is {added / 1e6:.1f} MB above its base", file=sys.stderr)
        self.assertLessEqual(added, 150e6)
        suspects = [path for path in self.files(NODE) if any(word in path.lower() for word in
                    ("torch", "rocksdb", "cuda", "edges.csv", "blink-aggregator", "/src/"))]
        self.assertEqual(suspects, [])

    def test_the_aggregator_image_has_what_it_needs_and_no_compiler(self):
        print(f"the aggregator image is {(self.size(AGGREGATOR) - self.size(BASE)) / 1e6:.1f} MB above its base",
              file=sys.stderr)
        files = self.files(AGGREGATOR)
        for program in ("blink", "blink-simulate", "blink-node", "blink-aggregator", "blink-worker"):
            self.assertIn(f"/usr/local/bin/{program}", files)
            done = podman("run", "--rm", "--entrypoint", program, AGGREGATOR, "--version")
            self.assertTrue(done.stdout.strip(), done)
        self.assertEqual([path for path in files if path.endswith(("/cc1plus", "libtorch_cuda.so"))], [])

    def test_containers_do_not_run_as_root(self):
        for image in (NODE, AGGREGATOR):
            done = podman("run", "--rm", "--entrypoint", "id", image, "-u")
            self.assertEqual(done.stdout.strip(), "10001")

    def test_images_say_whether_their_container_is_healthy(self):
        for image in (NODE, AGGREGATOR):
            config = json.loads(podman("image", "inspect", image).stdout)[0]
            self.assertTrue(config.get("HealthCheck") or config.get("Healthcheck") or
                            config["Config"].get("Healthcheck"), image)

    def test_a_node_container_without_kit_and_journal_refuses(self):
        done = podman("run", "--rm", NODE, check=False)
        self.assertEqual(done.returncode, blinktest.BAD_INPUT, done.stdout + done.stderr)


class Fleet:
    """A compose project of this test, with its own name, network and volumes; removed whole at the end."""

    def __init__(self, fleet, nodes, epochs=60, compose_file=None):
        self.size, self.nodes = fleet, nodes
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-fleet-"))
        self.project = self.folder.name.lower().replace("_", "x").replace("-", "")
        self.file = self.folder / "fleet.yml"
        if compose_file is None:
            self.file.write_text(command(SOURCE_DIR / "deploy" / "compose-fleet", fleet, "--nodes", nodes, "--epochs",
                                         epochs, "--node-image", NODE, "--aggregator-image", AGGREGATOR).stdout)
        else:
            text = pathlib.Path(compose_file).read_text()
            self.file.write_text(text.replace("image: blink-node\n", f"image: {NODE}\n")
                                 .replace("image: blink-aggregator:cpu\n", f"image: {AGGREGATOR}\n"))
        self.moved = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            for name in self.containers(all_states=True):
                log = podman("logs", "--tail", "15", name, check=False)
                print(f"--- {name}\n{log.stdout}{log.stderr}", file=sys.stderr)
        if os.environ.get("BLINK_E2E_KEEP"):
            return
        containers = self.containers(all_states=True)
        if containers:
            podman("rm", "-f", "-t", "0", *containers, check=False)
        volumes = podman("volume", "ls", "-q", "--filter", f"label={self.label}").stdout.split()
        if volumes:
            podman("volume", "rm", "-f", *volumes, check=False)
        podman("network", "rm", "-f", f"{self.project}_default", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def label(self):
        return f"io.podman.compose.project={self.project}"

    def compose(self, *arguments, timeout=900, environment=None):
        return command(sys.executable, "-m", "podman_compose", "-p", self.project, "-f", self.file, *arguments,
                       timeout=timeout, cwd=self.folder,
                       environment={"PYTHONPATH": str(COMPOSE_FOLDER), **(environment or {})})

    def up(self, *services):
        self.compose("up", "-d", "--no-build", *services)

    def down(self):
        """Compose does not know of the containers that were started in other containers' place."""
        if self.moved:
            podman("rm", "-f", "-t", "10", *self.moved)
            self.moved = []
        self.compose("down")

    def containers(self, all_states=False, name=None):
        filters = ["--filter", f"label={self.label}"] + (["--filter", f"name={name}"] if name else [])
        return podman("ps", *(["-a"] if all_states else []), *filters, "--format", "{{.Names}}").stdout.split()

    def running(self, name=None):
        return sorted(self.containers(name=name))

    def container(self, service):
        found = [name for name in self.containers(all_states=True)
                 if name in (f"{self.project}_{service}_1", f"{self.project}-{service}-1")]
        if len(found) != 1:
            raise AssertionError(f"containers of {service}: {found}")
        return found[0]

    def volume(self, name):
        return f"{self.project}_{name}"

    def start_elsewhere(self, index):
        """The kit and the journal of node `index` in a new container that compose did not make."""
        name = f"{self.project}-elsewhere-{index}"
        podman("run", "-d", "--name", name, "--label", self.label, "--network", f"{self.project}_default", "-v",
               f"{self.volume(f'kit-{index}')}:/kit:ro", "-v", f"{self.volume(f'journal-{index}')}:/journal", NODE)
        self.moved.append(name)
        return name

    def operator(self, *arguments, check=True):
        return podman("run", "--rm", "--network", f"{self.project}_default", "-v",
                      f"{self.volume('operator')}:/operator:ro", "--entrypoint", "blink", AGGREGATOR, "round",
                      *arguments, check=check)

    def rounds(self):
        done = self.operator("list", "--config", "/operator/operator.conf", "--json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else []

    def wait_for_reports(self, count):
        def enough():
            rounds = self.rounds()
            return len(rounds) == 1 and rounds[0].get("reports", 0) >= count and rounds[0]
        return wait_until(enough, f"{count} reports", pause=1)

    def account(self, index):
        done = podman("run", "--rm", "-v", f"{self.volume(f'kit-{index}')}:/kit:ro", "-v",
                      f"{self.volume(f'journal-{index}')}:/journal", NODE, "account", "--kit", "/kit", "--journal",
                      "/journal", "--json")
        return json.loads(done.stdout)

    def accounts(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(self.account, range(self.size)))

    def wait_for_operator(self):
        name = self.container("operator")
        wait_until(lambda: podman("inspect", "--format", "{{.State.Status}}", name).stdout.strip() == "exited",
                   "the operator to end", pause=1, patience=600)
        code = int(podman("inspect", "--format", "{{.State.ExitCode}}", name).stdout)
        log = podman("logs", name)
        if code != 0:
            raise AssertionError(f"the operator ended with {code}\n{log.stdout}{log.stderr}")
        return log.stdout


@unittest.skipIf(os.environ.get("BLINK_NO_CONTAINERS"), "BLINK_NO_CONTAINERS is set")
class Compose(BlinkTest):
    """docker-compose.yml as it is, on a small graph."""

    @classmethod
    def setUpClass(cls):
        require_images()
        require_compose()

    def test_the_compose_file_runs_a_round_and_prints_its_result(self):
        with Fleet(4, 120, compose_file=SOURCE_DIR / "docker-compose.yml") as fleet:
            fleet.compose("up", "-d", "--no-build", environment={"BLINK_NODES": "120", "BLINK_EPOCHS": "20"})
            output = fleet.wait_for_operator()
            self.assertIn("accuracy", output)
            wait_until(lambda: len(fleet.running()) == 5, "an aggregator and four gateways and nothing else",
                       patience=30)
            self.assertEqual(fleet.running(name="gpu"), [])
            self.assertEqual([account["draws"] for account in fleet.accounts()], [30] * 4)


class Init(BlinkTest):
    """deploy/simulation-init on a graph that is given, with volumes that are folders here."""

    @classmethod
    def setUpClass(cls):
        require_images()

    def init(self, environment):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-init-"))
        self.addCleanup(shutil.rmtree, folder, True)
        blinktest.generate_dataset(folder / "dataset", 41)
        labels = folder / "dataset" / "labels.csv"
        labels.write_text(labels.read_text().rstrip("\n"))  # as editors may leave it
        for name in ("aggregator", "operator", "kit-0", "kit-1", "journal-0", "journal-1"):
            (folder / "volumes" / name).mkdir(parents=True)
        variables = [part for pair in environment.items() for part in ("-e", "=".join(pair))]
        podman("run", "--rm", "--user", "root", "--network", "none", "-e", "BLINK_KITS=2", *variables, "-v",
               f"{folder}/dataset:/dataset:ro", "-v", f"{folder}/volumes:/volumes", "--entrypoint", "simulation-init",
               AGGREGATOR)
        files = [folder / "volumes" / f"kit-{index}" for index in (0, 1)]
        return [[json.loads((kit / name).read_text()) for kit in files] for name in ("kit.json", "policy.json")]

    def test_it_counts_the_nodes_and_lets_the_policies_allow_the_rounds_epsilon(self):
        for epsilon, allowed in (("9.5", 9_500_000), ("6", 8_000_000)):
            kits, policies = self.init({"BLINK_EPSILON": epsilon})
            self.assertEqual([kit["node_count"] for kit in kits], [41, 41])
            self.assertEqual(kits[1]["nodes"]["last"], 40)
            self.assertEqual([policy["epsilon_micro_per_round_max"] for policy in policies], [allowed] * 2)


class Fleets(BlinkTest):
    """Fleets that are torn apart in mid-round."""

    @classmethod
    def setUpClass(cls):
        require_images()
        require_compose()

    def assert_running(self, fleet, nodes, *others):
        """`nodes` node containers, and one of each of the others; an operator who has ended does not count."""
        def count():
            names = fleet.running()
            found = [name for name in names if "node-" in name or "elsewhere" in name]
            rest = [name for name in names if name not in found and "operator" not in name]
            return len(found) == nodes and len(rest) == len(others) and all(
                any(other in name for name in rest) for other in others)
        try:
            wait_until(count, "", patience=60, pause=0.5)
        except AssertionError:
            self.fail(f"{nodes} node containers and {others} should run, but these do: {fleet.running()}")

    def torn_apart(self, size, nodes):
        per_kit = nodes / size
        late = size // 4  # these report at the end only, so that the round stays open
        early = list(range(size - late))
        half = early[:size // 2]
        with Fleet(size, nodes) as fleet:
            fleet.up("init", "aggregator", "operator", *[f"node-{i}" for i in early])
            self.assert_running(fleet, len(early), "aggregator")
            # as soon as reports come in, half of the fleet is gone
            self.assertEqual(fleet.wait_for_reports(1)["state"], "open")
            podman("rm", "-f", "-t", "0", *[fleet.container(f"node-{i}") for i in half])
            self.assert_running(fleet, len(early) - len(half), "aggregator")
            for index in half:
                fleet.start_elsewhere(index)
            self.assert_running(fleet, len(early), "aggregator")
            early_nodes = sum(fleet.account(index)["nodes"] for index in early)
            self.assertAlmostEqual(early_nodes, per_kit * len(early), delta=size)
            self.assertEqual(fleet.wait_for_reports(early_nodes)["state"], "open")
            self.refusals(fleet)

            fleet.down()
            self.assertEqual(fleet.containers(all_states=True), [])
            self.assertEqual(sum(fleet.account(index)["draws"] for index in early), early_nodes)

            fleet.up()
            self.assert_running(fleet, size, "aggregator")
            self.assertIn("accuracy", fleet.wait_for_operator())
            round_ = fleet.rounds()
            self.assertEqual([(r["state"], r["reports"]) for r in round_], [("ready", nodes)])
            self.assert_running(fleet, size, "aggregator")
            fleet.down()
            self.assertEqual(fleet.containers(all_states=True), [])
            accounts = fleet.accounts()
            self.assertEqual(sum(account["draws"] for account in accounts), nodes, "one draw per node, and no other")
            for account in accounts:
                self.assertEqual(account["draws"], account["nodes"])

    def refusals(self, fleet):
        """What a container of the running fleet cannot do."""
        last = fleet.size - 1
        # a kit without its journal
        done = podman("run", "--rm", "--network", f"{fleet.project}_default", "-v",
                      f"{fleet.volume(f'kit-{last}')}:/kit:ro", NODE, check=False)
        self.assertEqual(done.returncode, blinktest.JOURNAL, done.stdout + done.stderr)
        self.assertIn("journal", (done.stdout + done.stderr).lower())
        # another's kit: it is not there, and its own is read-only
        index = fleet.size - last // 4 - 2
        name = fleet.container(f"node-{index}")
        kits = podman("exec", name, "find", "/", "-name", "kit.json", "-not", "-path", "/proc/*", check=False)
        self.assertEqual(kits.stdout.split(), ["/kit/kit.json"])
        lists = podman("exec", name, "find", "/", "-name", "*.csv", "-not", "-path", "/proc/*", check=False)
        self.assertEqual(lists.stdout.split(), ["/kit/lists.csv"])
        own = json.loads(podman("exec", name, "cat", "/kit/kit.json").stdout)["nodes"]
        listed = {int(line.split(",")[0]) for line in
                  podman("exec", name, "cat", "/kit/lists.csv").stdout.splitlines()[1:]}
        self.assertTrue(all(own["first"] <= node <= own["last"] for node in listed))
        self.assertNotEqual(podman("exec", name, "touch", "/kit/lists.csv", check=False).returncode, 0)
        mounts = json.loads(podman("inspect", name).stdout)[0]["Mounts"]
        self.assertEqual({mount["Name"] for mount in mounts},
                         {fleet.volume(f"kit-{index}"), fleet.volume(f"journal-{index}")})
        # the aggregator has no list and no link
        found = podman("exec", fleet.container("aggregator"), "find", "/", "(", "-name", "edges.csv", "-o", "-name",
                       "lists.csv", "-o", "-name", "kit.json", ")", "-not", "-path", "/proc/*", check=False)
        self.assertEqual(found.stdout.split(), [])

    def test_twenty_gateways_on_a_graph_of_the_size_of_cora(self):
        self.torn_apart(size=20, nodes=2708)

    def test_one_container_a_node(self):
        self.torn_apart(size=34, nodes=34)


if __name__ == "__main__":
    blinktest.main()
