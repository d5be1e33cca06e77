"""Several aggregators that share a database: each takes any report, one of them seals and trains, and whichever dies,
nothing that was acknowledged is lost and the round completes."""
import http.client
import os
import pathlib
import random
import re
import signal
import time

import blinktest
import postgres
from blinktest import BlinkTest, Deployment, must, run, wait_until


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Pair:
    """Two aggregators of one deployment. Half of the kits talks to each, by way of a proxy that can be turned."""

    def __init__(self, blink, database):
        self.blink = blink
        self.uri_file = blink.folder / "store.uri"
        self.uri_file.write_text(database.uri() + "\n")
        os.chmod(self.uri_file, 0o600)
        (blink.data / "rounds").mkdir(parents=True)
        self.second_data = blink.folder / "second"
        self.second_data.mkdir()
        (self.second_data / "rounds").symlink_to(blink.data / "rounds")  # as a shared volume
        self.second_port = blinktest.free_port()
        self.second_operator = blink.operator.with_name("second.conf")
        self.second_operator.write_text(blink.operator.read_text().replace(f":{blink.port}", f":{self.second_port}"))
        names = blink.kits()
        self.proxies = [blink.proxy(names[::2]), blink.proxy(names[1::2])]
        self.proxies[1].target_port = self.second_port

    def start_first(self, *arguments):
        return self.blink.start_aggregator("--store-file", self.uri_file, *arguments)

    def start_second(self, *arguments):
        process = self.blink._start("aggregator-2", "blink-aggregator", "--config",
                                    self.blink.out / "aggregator" / "aggregator.conf", "--data", self.second_data,
                                    "--listen", f"127.0.0.1:{self.second_port}", "--store-file", self.uri_file,
                                    *arguments)

        def answers():
            if not process.running():
                raise AssertionError(f"the second aggregator ended\n{process.log()[-3000:]}")
            return run("blink", "round", "list", "--config", self.second_operator, "--json").code == blinktest.OK

        wait_until(answers, "an answer from the second aggregator", pause=0.2)
        return process

    def turn_to_second(self):
        """From now on the operator and all nodes talk to the second one."""
        self.proxies[0].target_port = self.second_port
        self.blink.operator.write_text(self.second_operator.read_text())

    def wait_for_fleet(self):
        for name, process in self.blink.processes.items():
            if not name.startswith("aggregator"):
                code = process.wait()
                if code != blinktest.OK:
                    raise AssertionError(f"{name} ended with {code}\n{process.log()[-3000:]}")


class Replicas(BlinkTest):
    def setUp(self):
        if postgres.missing():
            self.skipTest(postgres.missing())

    def same_as_one(self, blink, round_id):
        """What the two made is what one worker makes of the same reports."""
        folder = blink.round_folder(round_id)
        again = blink.folder / f"again-{round_id}"
        must("blink-worker", "--round-folder", folder, "--attributes", blink.out / "aggregator" / "attributes",
             "--output", again)
        for name in ("links.csv", "predictions.csv", "degrees.csv"):
            self.assertEqual((folder / "result" / name).read_bytes(), (again / name).read_bytes(), name)

    def test_a_holder_that_is_killed_while_it_trains_is_followed_by_the_other(self):
        nodes = 60
        with postgres.Postgres() as database, Deployment(nodes=nodes, kits=4) as blink:
            pair = Pair(blink, database)
            first = pair.start_first()
            second = pair.start_second()
            wait_until(lambda: "has the lease" in first.log(), "the first to hold the lease")
            first_operator = blink.operator.read_text()
            blink.operator.write_text(pair.second_operator.read_text())  # made by the one that does not hold it
            round_id = blink.create_round(6, 0.1, "10m", 30000)  # which is not over when it is killed
            blink.start_fleet()
            status = blink.wait_for_state(round_id, "training")
            self.assertEqual(status["reports"], nodes)
            blink.operator.write_text(first_operator)
            time.sleep(random.uniform(0, 2))
            first.kill()
            pair.turn_to_second()
            wait_until(lambda: f"round {round_id} goes on" in second.log(), "the second to go on")
            status = blink.wait_for_state(round_id, "ready")
            self.assertEqual(status["reports"], nodes)
            pair.wait_for_fleet()
            self.assertEqual(blink.draws(), nodes)
            self.same_as_one(blink, round_id)
            for process in (first, second):
                self.assertNotIn(postgres.PASSWORD, process.log())

    def test_the_round_of_a_holder_that_is_stopped_completes_at_the_other(self):
        with postgres.Postgres() as database, Deployment(nodes=60, kits=2) as blink:
            pair = Pair(blink, database)
            first = pair.start_first()
            second = pair.start_second()
            wait_until(lambda: "has the lease" in first.log(), "the first to hold the lease")
            round_id = blink.create_round(6, 0.1, "10m", 30000)
            blink.start_fleet()
            blink.wait_for_state(round_id, "training")
            worker = wait_until(first.children, "the first to have a worker")[0]
            os.kill(first.pid, signal.SIGSTOP)
            os.kill(worker, signal.SIGSTOP)  # so that it cannot be done before the lease has passed on
            pair.turn_to_second()
            wait_until(lambda: "held the lease before" in blink.status(round_id)["progress_text"],
                       "the second to wait for the worker of the first")
            os.kill(worker, signal.SIGCONT)
            os.kill(first.pid, signal.SIGCONT)  # it finds that it has lost the lease, and ends its worker
            self.assertEqual(blink.wait_for_state(round_id, "ready")["reports"], 60)
            self.assertNotIn("failed", second.log())
            pair.wait_for_fleet()
            self.same_as_one(blink, round_id)

    def test_either_may_be_killed_while_they_collect(self):
        nodes = 240
        with postgres.Postgres() as database, Deployment(nodes=nodes, kits=4) as blink:
            pair = Pair(blink, database)
            first = pair.start_first()
            pair.start_second()
            round_id = blink.create_round(1, 0.1, "10m", 10)
            for proxy in pair.proxies:
                proxy.rate = 8000
            blink.start_fleet()
            for _ in range(3):
                held = blink.wait_for_reports(round_id, random.randint(1, nodes - 100)) and blink.reports(round_id)
                if random.random() < 0.5:
                    first.kill()
                    first = pair.start_first()
                else:
                    blink.processes["aggregator-2"].kill()
                    pair.start_second()
                self.assertGreaterEqual(blink.reports(round_id), held, "an acknowledged report was lost")
            for proxy in pair.proxies:
                proxy.rate = None
            status = blink.wait_for_state(round_id, "ready")
            pair.wait_for_fleet()
            self.assertEqual(status["reports"], nodes)
            self.assertEqual(blink.draws(), nodes)

    def test_operators_may_ask_the_one_that_does_not_hold_the_lease(self):
        with postgres.Postgres() as database, Deployment(nodes=60, kits=2) as blink:
            pair = Pair(blink, database)
            first = pair.start_first()
            pair.start_second()
            round_id = blink.create_round(6, 0.1, "10m", 100_000)
            blink.start_fleet()
            blink.wait_for_state(round_id, "training")
            children = first.children()
            blink.operator.write_text(pair.second_operator.read_text())
            wait_until(lambda: blink.status(round_id).get("progress", 0) > 0, "progress at the second")
            must("blink", "round", "cancel", "--config", blink.operator, round_id)
            wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in children),
                       "the first to end its worker")
            must("blink", "round", "retry", "--config", blink.operator, round_id, "--epochs", 20)
            blink.wait_for_state(round_id, "ready")
            shown = blink.folder / "shown"
            must("blink", "round", "result", "--config", blink.operator, round_id, "--output", shown)
            self.assertTrue((shown / "metrics.json").exists())

    def test_the_database_may_be_away_for_a_while(self):
        with postgres.Postgres() as database, Deployment(nodes=60, kits=2) as blink:
            pair = Pair(blink, database)
            first = pair.start_first()
            round_id = blink.create_round(6, 0.1, "10m", 300)
            pair.proxies[1].target_port = blink.port
            blink.start_node(blink.kits()[0])
            blink.wait_for_reports(round_id, blink.kit_size(blink.kits()[0]))
            database.stop()
            blink.start_node(blink.kits()[1])
            time.sleep(2)
            done = run("blink", "round", "status", "--config", blink.operator, round_id)
            self.assertNotEqual(done.code, blinktest.OK, done)
            self.assertTrue(first.running())
            database.start()
            wait_until(lambda: run("blink", "round", "status", "--config", blink.operator, round_id).code == 0,
                       "the aggregator to find the database again")
            status = blink.wait_for_state(round_id, "ready")
            self.assertEqual(status["reports"], 60)
            blink.wait_for_fleet()


    def test_whoever_watches_never_waits_for_a_database_that_hangs(self):
        def ask(path):
            begun = time.monotonic()
            answer = get(port, path)
            self.assertLess(time.monotonic() - begun, 2, f"{path} waits for the database")
            return answer

        with postgres.Postgres() as database, Deployment(nodes=12, kits=1) as blink:
            process = Pair(blink, database).start_first("--http-listen", "127.0.0.1:0")
            port = int(re.search(r"metrics and health over HTTP: listening on \S+, port (\d+)", process.log())[1])
            blink.create_round(6, 0.1, "10m", 20)
            wait_until(lambda: 'blink_rounds{state="open"} 1' in ask("/metrics")[1], "the round in the metrics")
            database.freeze()
            frozen = time.monotonic()
            wait_until(lambda: ask("/readyz")[0] == 503, "the end of its readiness", pause=0.1)
            self.assertLess(time.monotonic() - frozen, 8)
            until = time.monotonic() + 8
            while time.monotonic() < until:
                self.assertEqual(ask("/readyz")[0], 503, "it must stay so")
                time.sleep(0.05)
            text = ask("/metrics")[1]
            self.assertIn("blink_store_writable 0", text)
            self.assertIn('blink_rounds{state="open"} 1', text, "what the database said last")
            self.assertGreater(float(re.search(r"^blink_store_answer_age_seconds (\S+)", text, re.M)[1]), 2)
            self.assertEqual(ask("/healthz")[0], 200, "the process lives")
            database.thaw()
            wait_until(lambda: ask("/readyz")[0] == 200, "it to be ready again", patience=60)
            wait_until(lambda: "blink_store_writable 1" in ask("/metrics")[1], "the metrics of now")


class Settings(BlinkTest):
    """What is refused, with the remedy."""

    def setUp(self):
        if postgres.missing():
            self.skipTest(postgres.missing())

    def test_stores_that_cannot_be_used_are_refused(self):
        with postgres.Postgres() as database, Deployment(nodes=12, kits=1) as blink:
            command = ("blink-aggregator", "--config", blink.out / "aggregator" / "aggregator.conf")
            uri_file = blink.folder / "store.uri"

            def ends(code, *texts, uri=None, arguments=("--store-file", uri_file)):
                uri_file.write_text(uri or database.uri())
                done = run(*command, *arguments)
                self.assertEnds(done, code, *texts)
                self.assertNotIn("sesame", done.err + done.out)

            ends(blinktest.USAGE, "exclude each other", arguments=("--store", "rocksdb", "--store-file", uri_file))
            ends(blinktest.USAGE, "--store is neither", arguments=("--store", "mysql://sesame@x"))
            ends(blinktest.BAD_INPUT, "store.uri", "cannot be read", uri="host=x password=sesame")
            ends(blinktest.BAD_INPUT, "absent.uri", arguments=("--store-file", blink.folder / "absent.uri"))
            ends(blinktest.UNREACHABLE, "authentication failed", uri=database.uri("sesame-wrong"))
            ends(blinktest.UNREACHABLE, "connection refused",
                 uri=f"postgresql://a:sesame@127.0.0.1:{blinktest.free_port()}/b")
            uri_file.write_text(database.uri())
            first = blink.start_aggregator("--store-file", uri_file)
            ends(blinktest.BAD_INPUT, "is not the folder that the other aggregators", "mount the same volume",
                 arguments=("--store-file", uri_file, "--data", blink.folder / "other"))
            ends(blinktest.INTERNAL, "another process holds", "aggregator.lock", "use another data folder",
                 arguments=("--store-file", uri_file, "--audit-log", blink.folder / "other.log", "--listen",
                            "127.0.0.1:0"))
            with Deployment(nodes=12, kits=1, name="another") as another:
                done = run("blink-aggregator", "--config", another.out / "aggregator" / "aggregator.conf",
                           "--store-file", uri_file)
                self.assertEnds(done, blinktest.BAD_INPUT, 'is of deployment "e2e", not "another"')
            ends(blinktest.BAD_INPUT, "cannot be read", uri="postgresql://a:ses@me@127.0.0.1:1/b")
            uri_file.write_text(database.uri())
            self.assertEqual(first.terminate(), blinktest.OK)
            database.sql("INSERT INTO blink.blink_schema (version, digest) VALUES (99, 'x')")
            ends(blinktest.BAD_INPUT, "version 99 of blink's tables")

    def test_a_data_folder_with_a_store_of_its_own_keeps_it(self):
        with postgres.Postgres() as database, Deployment(nodes=12, kits=1) as blink:
            self.assertEqual(blink.start_aggregator().terminate(), blinktest.OK)
            done = run("blink-aggregator", "--config", blink.out / "aggregator" / "aggregator.conf", "--store",
                       database.uri())
            self.assertEnds(done, blinktest.BAD_INPUT, "begin with another data folder")


if __name__ == "__main__":
    blinktest.main()
