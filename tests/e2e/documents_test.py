"""What is written down works: the commands of README.md and OPERATIONS.md, the sample configurations, the demo."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, BlinkTest, Deployment, Process, must, run, wait_until

PROGRAMS = ("blink", "blink-node", "blink-aggregator", "blink-worker")


def code_blocks(path):
    return re.findall(r"^```[a-z]*\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


class DocumentedCommands(BlinkTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def text_of_block(self, document, start):
        found = [block for block in code_blocks(SOURCE_DIR / document) if block.startswith(start)]
        self.assertEqual(len(found), 1, f"{document} should hold one block that starts with: {start}")
        return found[0]

    def block(self, document, start):
        lines = self.text_of_block(document, start).splitlines()
        return [shlex.split(line, comments=True) for line in lines if line.strip()]

    def substitute(self, command, values):
        for old, new in values.items():
            command = [re.sub(rf"\b{old}\b", new, part) for part in command]
        return command

    def test_a_first_round_on_one_machine(self):
        dataset = self.folder / "dataset"
        port = blinktest.free_port()
        out, result = self.folder / "out", self.folder / "result"
        values = {"OUT": str(out), "DIR": str(dataset), "7443": str(port), "60s": "5m", "RESULT": str(result)}
        background = []
        self.addCleanup(lambda: [process.kill() for process in background if process.running()])
        kits = lambda: [path.name for path in (out / "kits").iterdir()]
        for command in self.block("docs/OPERATIONS.md", "blink provision simulate"):
            command = self.substitute(command, values)
            self.assertIn(command[0], PROGRAMS)
            if command[-1] == "&":
                if command[0] == "blink-node":
                    # "and the other kits"
                    command = [re.sub(r"nodes-0-676", "KIT", part) for part in command]
                    for name in kits():
                        background.append(Process(name, [BIN_DIR / command[0]] + [part.replace("KIT", name) for part in
                                          command[1:-1]], self.folder / f"{name}.log"))
                else:
                    background.append(Process(command[0], [BIN_DIR / command[0], *command[1:-1]],
                                              self.folder / "a.log"))
                    operator = out / "operator" / "operator.conf"
                    wait_until(lambda: run("blink", "round", "list", "--config", operator).code == 0, "the aggregator")
                continue
            done = must(*command)
            found = re.search(r"\b[0-9a-f]{32}\b", done.out)
            if command[1:3] == ["round", "create"]:
                self.assertTrue(found, done)
                values["ROUND"] = found.group(0)
        self.assertTrue((result / "metrics.json").exists() and (result / "predictions.csv").exists())
        for process in background[1:]:
            self.assertEqual(process.wait(), blinktest.OK, process.log())

    def test_a_deployment_in_the_field(self):
        out, journal = self.folder / "OUT", self.folder / "JOURNAL"
        kit = out / "kits" / "nodes-0-135"
        # Where each party works, and where its request is signed.
        device = self.folder / "device"
        device.mkdir()
        folders = {"nodes-0-135": device, "aggregator": out / "aggregator", "ada": out / "operators" / "ada"}
        paths = {"OUT": out, "KIT": kit, "JOURNAL": journal}

        def run_block(start):
            for line in self.text_of_block("docs/OPERATIONS.md", start).splitlines():
                name = re.search(r"--name (\S+)", line)
                folder = folders[name.group(1)] if name else device
                line = re.sub(r"\b(OUT|KIT|JOURNAL)\b", lambda word: str(paths[word.group()]), line)
                done = subprocess.run(["bash", "-euc", line], cwd=folder, capture_output=True, text=True, check=False,
                                      env={**os.environ, "PATH": f"{BIN_DIR}:{os.environ['PATH']}"})
                self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")

        run_block("blink provision init")
        run_block("blink-node init --kit KIT --journal JOURNAL  ")
        shutil.copy(kit / "tls" / "client.csr", device)
        run_block("blink provision sign")
        first = (device / "client.crt").read_text()
        run_block("blink provision request")  # renews
        self.assertNotIn((kit / "tls" / "client.crt").read_text(), first)
        run_block("blink provision revoke")
        run_block("blink provision roster")
        self.assertTrue((journal / "journal.blj").exists())
        for name in ("aggregator/server.crt", "operators/ada/client.crt"):
            self.assertTrue((out / name).exists(), name)
        for name in ("aggregator/roster.json", "kits/nodes-0-135/kit.json"):
            self.assertEqual(json.loads((out / name).read_text())["node_count"], 2720, name)
        revoked = subprocess.run(["openssl", "crl", "-in", out / "revoked.crl.pem", "-text", "-noout"],
                                 capture_output=True, text=True, check=True).stdout
        self.assertEqual(revoked.count("Serial Number"), 2, "both certificates of the name that was revoked")

    def test_auditing_the_privacy(self):
        audits = [command for command in self.block("README.md", "blink simulate") if command[1] == "audit"]
        self.assertEqual([command[2] for command in audits], ["mechanism", "randomness", "game", "replay", "links"])
        # the replay syncs thousands of small files
        in_memory = {"TMPDIR": "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()}
        for command in audits[:-1]:  # the last is research
            audit = must(*command, "--json", "--quiet", environment=in_memory).json()
            self.assertTrue(audit["passed"])
            if audit["audit"] == "mechanism":
                self.assertAlmostEqual(audit["degree_share"], 0.05, msg="a round's, where the command names none")

    def test_research_without_a_network(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 80)
        simulations = [command for command in self.block("README.md", "blink simulate") if command[1] == "simulate"]
        for command, prior in zip(simulations, ("beta", "attributed", None), strict=True):
            training = ("--epochs", "5") if prior else ()
            result = must(*self.substitute(command, {"DIR": str(dataset)}), *training).json()
            self.assertEqual(result["privacy"]["noise"], "cryptographic")
            self.assertIs(result["privacy"]["private"], True)
            self.assertIs(result["privacy"]["simulated"], True, "one process saw every list")
            self.assertEqual(len(result["trials"]), 5)
            self.assertEqual(result["estimate"]["prior"], prior or "beta")
            self.assertEqual(result["train"] is None, prior is None)
        attack, = (command for command in self.block("README.md", "blink simulate") if command[:3] ==
                   ["blink", "audit", "links"])
        found = must(*self.substitute(attack, {"DIR": str(dataset)}), "--json", "--trials", 1, "--epochs", 5).json()
        self.assertEqual([victim["epsilon"] for victim in found["victims"]], [None, None, 1, 2, 4, 8])

    def test_the_two_commands_exist_and_know_the_options_that_are_named(self):
        for line in self.block("README.md", "scripts/demo"):
            self.assertIn(line[0], ("scripts/demo", "scripts/test"))
            done = subprocess.run([SOURCE_DIR / line[0], "--help"], capture_output=True, text=True, check=True)
            for option in [part for part in line[1:] if part.startswith("--")]:
                self.assertIn(option, done.stdout)

    def test_every_program_explains_itself_and_its_exit_codes(self):
        header = (SOURCE_DIR / "common" / "base" / "exit_code.h").read_text()
        codes = [int(code) for code in re.findall(r"^  k\w+ = (\d+),", header, re.MULTILINE)]
        self.assertGreaterEqual(len(codes), 13)
        for program in PROGRAMS:
            done = must(program, "--help")
            table = done.out[done.out.index("\nExit codes:\n"):]
            self.assertEqual([int(code) for code in re.findall(r"^ +(\d+)  \S", table, re.MULTILINE)], codes, program)
            self.assertRegex(must(program, "--version").out, r"\d+\.\d+\.\d+")


class References(BlinkTest):
    """Documents refer to each other by file and heading."""

    def setUp(self):
        names = [str(path.relative_to(SOURCE_DIR)) for path in SOURCE_DIR.rglob("*.md")
                 if not path.relative_to(SOURCE_DIR).parts[0].startswith((".", "build", "shared"))]
        self.texts = {name: (SOURCE_DIR / name).read_text() for name in names}

    def headings(self, name):
        return re.findall(r"(?m)^#{1,4} (.+)$", self.texts[name])

    def test_every_link_leads_to_a_heading_that_is_there(self):
        def anchor(heading):
            return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

        checked = 0
        for name, text in self.texts.items():
            for path, fragment in re.findall(r"\]\(([^()\s#:]*)(?:#([^()\s]+))?\)", text):
                target = (SOURCE_DIR / name).parent / path if path else SOURCE_DIR / name
                self.assertTrue(target.exists(), f"{name}: {path}")
                if fragment:
                    known = [anchor(heading) for heading in
                             self.headings(str(target.resolve().relative_to(SOURCE_DIR)))]
                    self.assertIn(fragment, known, f"{name}: {path}#{fragment}")
                    checked += 1
        self.assertGreater(checked, 20)

    def test_every_heading_that_is_named_behind_a_file_is_in_it(self):
        checked = 0
        for name, text in self.texts.items():
            for path, heading in re.findall(r'`([\w./]+\.md)`,\s+"([^"]+)"', text):
                candidates = [known for known in (path, f"docs/{path}", str(pathlib.PurePath(name).parent / path))
                              if known in self.texts]
                self.assertTrue(candidates, f"{name}: {path}")
                wanted = " ".join(heading.split())
                known = [title for candidate in candidates for title in
                         self.headings(candidate) + re.findall(r"(?m)^(?:- )?\*\*(.+?)\*\*", self.texts[candidate])]
                self.assertTrue(any(title.startswith(wanted) for title in known), f'{name}: {path}, "{wanted}"')
                checked += 1
        self.assertGreater(checked, 10)


class DataSets(BlinkTest):
    """The table of docs/OPERATIONS.md says what a data set is."""

    def test_a_folder_as_it_is_documented_is_read(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, folder, True)
        text = (SOURCE_DIR / "docs" / "OPERATIONS.md").read_text()
        table = text[text.index("\n## A data set\n"):].split("\n\n")[2]
        documented = dict(re.findall(r"^\| `([a-z]+\.(?:csv|txt))` \| `?([a-z,]*?)`? ?\|", table, re.MULTILINE))
        self.assertEqual(sorted(documented), ["classes.txt", "edges.csv", "labels.csv", "nodes.csv", "split.csv"])
        for name, rows in (("edges.csv", "1,0\n1,2\n2,1\n"), ("labels.csv", "2,1\n0,-1\n1,0\n"),
                           ("nodes.csv", "1,anna\n0,\"b, c\"\n2,17\n"), ("split.csv", "0,none\n2,val\n1,train\n"),
                           ("classes.txt", "first\nsecond\n")):
            (folder / name).write_text(documented[name] + "\n" * bool(documented[name]) + rows)
        info = must("blink", "dataset", "info", folder, "--json").json()
        self.assertEqual([info[key] for key in ("nodes", "links", "features", "classes", "unlabelled")],
                         [3, 2, 0, 2, 1])
        self.assertEqual(info["split"], {"train": 1, "validation": 1, "test": 0})


class SampleConfigs(BlinkTest):
    """The files of deploy/ are accepted by the programs that they are for."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        dataset = cls.folder / "dataset"
        must("blink", "dataset", "generate", "--output", dataset)
        cls.blink = Deployment(nodes=2708, kits=4, dataset=dataset, name="demo")
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)

    def place(self, sample, target, port=None):
        text = (SOURCE_DIR / "deploy" / sample).read_text().replace("127.0.0.1:9464", "127.0.0.1:0")
        target.write_text(text.replace("127.0.0.1:7443", f"127.0.0.1:{port or self.blink.port}"))

    def test_aggregator_and_operator_and_kit(self):
        self.place("aggregator.conf", self.blink.out / "aggregator" / "aggregator.conf")
        self.place("operator.conf", self.blink.operator)
        self.place("kit.json", self.blink.kit("nodes-0-676") / "kit.json")
        self.place("policy.json", self.blink.kit("nodes-0-676") / "policy.json")
        self.blink.start_aggregator()
        round_id = self.blink.create_round(6, 0.1, "10m", 3)
        node = self.blink.start_node("nodes-0-676", "--leave", "at-receipt")
        self.assertEqual(node.wait(), blinktest.OK, node.log())
        self.assertEqual(self.blink.reports(round_id), 677)

    def test_the_compose_files_mount_each_kit_once(self):
        texts = [(SOURCE_DIR / "docker-compose.yml").read_text()]
        texts.append(subprocess.run([SOURCE_DIR / "deploy" / "compose-fleet", "4"], capture_output=True, text=True,
                                    check=True).stdout)
        for text in texts:
            for index in range(4):
                self.assertEqual(len(re.findall(rf"kit-{index}:/kit:ro", text)), 1)
                self.assertEqual(len(re.findall(rf"journal-{index}:/journal\b", text)), 1)
                self.assertEqual(len(re.findall(rf"kit-{index}:/volumes/kit-{index}\b", text)), 1)

    def test_compose_fleet_refuses_more_containers_than_nodes(self):
        for arguments in (["10", "--nodes", "9"], ["0"], ["many"]):
            done = subprocess.run([SOURCE_DIR / "deploy" / "compose-fleet", *arguments], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 2, done)

    def test_compose_fleet_takes_a_graph_by_its_path_and_no_other_folder(self):
        program, parent = SOURCE_DIR / "deploy" / "compose-fleet", self.blink.dataset.parent
        given = [program, "2", "--dataset", self.blink.dataset.name]
        text = subprocess.run(given, capture_output=True, text=True, cwd=parent, check=True).stdout
        self.assertIn(f'- "{self.blink.dataset}:/dataset:ro"\n', text, "a mere name would be that of an empty volume")
        for folder in ("nowhere", str(self.blink.out)):
            done = subprocess.run([program, "2", "--dataset", folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("edges.csv", done.stderr)

    def test_an_epsilon_of_the_environment_reaches_the_nodes_policies_and_the_operator(self):
        text = (SOURCE_DIR / "docker-compose.yml").read_text()
        fleet = subprocess.run([SOURCE_DIR / "deploy" / "compose-fleet", "2", "--epsilon", "9.5"], capture_output=True,
                               text=True, check=True).stdout
        self.assertEqual(text.count('BLINK_EPSILON: "${BLINK_EPSILON:-6}"'), 2)
        self.assertEqual(fleet.count('BLINK_EPSILON: "9.5"'), 2)
        self.assertIn('BLINK_REQUEST: "${BLINK_REQUEST:-simulation-1}"', text)


class Demo(BlinkTest):
    """scripts/demo, with the programs that are built already."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.environment = {**os.environ, "TMPDIR": str(self.folder), "BLINK_BIN_DIR": str(BIN_DIR)}

    def processes(self):
        """Running processes whose command line names this test's folder."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found

    def test_it_says_what_was_protected_and_what_came_of_it(self):
        done = subprocess.run([SOURCE_DIR / "scripts" / "demo", "--nodes", "200", "--kits", "3", "--epochs", "20"],
                              capture_output=True, text=True, env=self.environment, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for text in ("epsilon 6", "epsilon 12", "bytes per report", "precision, recall", "features alone", "this round",
                     "true graph", f'export PATH="{BIN_DIR}:$PATH"'):
            self.assertIn(text, done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [], "the temporary folder stays behind")
        self.assertEqual(self.processes(), [])

    def test_it_cleans_up_when_it_is_ended_in_the_middle(self):
        demo = subprocess.Popen([SOURCE_DIR / "scripts" / "demo", "--nodes", "200", "--kits", "3", "--epochs",
                                 "100000"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
                                start_new_session=True)
        try:
            wait_until(lambda: any("blink-worker" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
                                   for pid in self.processes() if pathlib.Path(f"/proc/{pid}").exists()),
                       "the demo to train")
            # as Ctrl-C does: the whole group of the terminal
            os.killpg(demo.pid, signal.SIGINT)
            output = demo.communicate(timeout=60)[0]
        finally:
            if demo.poll() is None:
                os.killpg(demo.pid, signal.SIGKILL)
        self.assertEqual(demo.returncode, 130, output)
        wait_until(lambda: not self.processes(), "the demo's processes to end", patience=30)
        self.assertEqual(list(self.folder.iterdir()), [])

    def demo(self, *arguments, **environment):
        return subprocess.run([SOURCE_DIR / "scripts" / "demo", *map(str, arguments)], capture_output=True, text=True,
                              check=False, env={**self.environment, **environment}, timeout=120)

    def test_it_refuses_what_it_does_not_know_before_it_builds(self):
        for flag, value, code, text in (
                ("--colour", "blue", 2, "unknown option --colour"),
                ("--dataset", self.folder / "nowhere", 3, "no data set at"),
                ("--dataset", self.folder, 3, "no data set at"),
                ("--kits", 0, 2, "--kits: "), ("--kits", 2709, 2, "--kits: "), ("--nodes", "08", 2, "--nodes: "),
                ("--nodes", 2, 2, "--nodes: "), ("--epochs", "many", 2, "--epochs: "), ("--seed", -1, 2, "--seed: "),
                ("--epsilon", 0, 2, "--epsilon: "), ("--epsilon", 50.1, 2, "--epsilon: "),
                ("--epsilon", "1e3", 2, "--epsilon: "), ("--epsilon", "0.0000001", 2, "--epsilon: "),
                ("--degree-share", 1.1, 2, "--degree-share: ")):
            done = self.demo(flag, value, BLINK_BIN_DIR="/nowhere")
            self.assertEqual(done.returncode, code, done)
            self.assertEqual(done.stdout, "", "it has begun")
            self.assertIn(f"demo: {text}", done.stderr)
        self.assertEqual(self.demo("--kits").returncode, 2)

    def other_programs(self, name, script):
        """A folder of the programs, of which one is a script that may go on as the program: "$program" "$@"."""
        folder = self.folder / "programs"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for program in PROGRAMS:
            (folder / program).symlink_to(BIN_DIR / program)
        (folder / name).unlink()
        (folder / name).write_text(f"#!/bin/bash\nprogram={shlex.quote(str(BIN_DIR / name))}\n{script}\n")
        (folder / name).chmod(0o755)
        return str(folder)

    def test_a_node_that_refuses_ends_it_and_is_shown(self):
        for ending, code in (("exit 4", blinktest.REFUSED_BY_POLICY), ("exit 2", blinktest.USAGE), ("kill -9 $$", 137)):
            refusing = ('[[ $1 == run && $3 == */nodes-0-* ]] && { echo "this is too much"; ' + ending + "; }\n"
                        'exec "$program" "$@"')
            programs = self.other_programs("blink-node", refusing)
            done = self.demo("--nodes", 40, "--kits", 2, BLINK_BIN_DIR=programs)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn(f"nodes-0-19 ended with exit code {code}", done.stderr)
            self.assertEqual(re.findall(r"--- the end of (.*)", done.stderr), ["nodes-0-19.log"])
            self.assertIn("this is too much", done.stderr)
            self.assertEqual(self.processes(), [])

    def test_the_nodes_policies_allow_the_epsilon_that_was_asked_for(self):
        programs = self.other_programs("blink-aggregator", "exit 6")
        done = self.demo("--nodes", 40, "--kits", 2, "--epsilon", 9.5, "--keep",
                         BLINK_BIN_DIR=os.path.relpath(programs))  # from where it is started
        self.assertEqual(done.returncode, blinktest.UNREACHABLE, done.stdout + done.stderr)
        self.assertIn("aggregator ended with exit code 6", done.stderr)
        policies = list(self.folder.glob("blink-demo.*/out/kits/*/policy.json"))
        allowed = [json.loads(path.read_text())["epsilon_micro_per_round_max"] for path in policies]
        self.assertEqual(allowed, [9_500_000] * 2)

    def test_a_build_says_how_far_it_has_come(self):
        script = ("source \"$0/scripts/lib.sh\"; seen() { until grep -q \"$1\" said; do sleep 0.1; done; }; "
                  "echo '[1/9] x' > log; tell_progress log 1 > said & seen 1/9; echo '[2/9] y' >> log; seen 2/9; "
                  "echo '[2/9] z' >> log; sleep 2.5; kill %1; cat said")
        done = subprocess.run(["bash", "-c", script, SOURCE_DIR], cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=120)
        self.assertEqual(done.stdout.split(), ["[1/9]", "[2/9]"], done)


if __name__ == "__main__":
    blinktest.main()
