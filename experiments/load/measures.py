"""What is measured. Each part is a function of (stage maker, plan, record, say) that calls record(repeat, measure,
value) for each figure."""
import threading
import time

from stage import Failed, Memory, cpu_seconds, stopped


def rate(answer):
    return answer["reports"] / answer["seconds"]


def record_memory(memory, record):
    """The median of the first third of the samples, and of the last."""
    samples = memory.close()
    third = max(1, len(samples) // 3)
    for measure, part in (("memory_first_third_mb", samples[:third]), ("memory_last_third_mb", samples[-third:])):
        values = sorted(megabytes for _, megabytes in part)
        record(0, measure, values[len(values) // 2])
    record(0, "memory_peak_mb", max(megabytes for _, megabytes in samples))
    for second, megabytes in {int(seconds): megabytes for seconds, megabytes in samples}.items():
        record.memory(second, megabytes)


def record_count(counted, record):
    for measure in ("acknowledged", "held", "missing", "different"):
        record(0, f"reader_{measure}", counted[measure])
    if counted["missing"] or counted["different"]:
        raise Failed(f"the store does not hold what was acknowledged: {counted}")


def record_calls(repeat, name, answer, record):
    record(repeat, f"{name}_per_second", rate(answer))
    record(repeat, f"{name}_p50_ms", answer["p50_ms"])
    record(repeat, f"{name}_p99_ms", answer["p99_ms"])


def measure_beside_bare(stage, connections, plan, record, say):
    """Calls, all connections' calls at once, and one gateway's stream, each beside calls of the service that does
    nothing."""
    driver, in_flight, burst = stage.driver, plan["in_flight"], connections
    driver.do(f"calls bare x {in_flight}")
    driver.do(f"calls aggregator {stage.create_round()} {in_flight}")
    memory = Memory(stage.blink.aggregator.pid)
    for repeat in range(plan["repeats"]):
        kinds = [("bare", lambda: driver.do(f"calls bare x {in_flight}")),
                 ("calls", lambda: driver.do(f"calls aggregator {stage.create_round()} {in_flight}"))]
        for name, call in kinds if repeat % 2 == 0 else reversed(kinds):
            record_calls(repeat, name, call(), record)
        kinds = [("burst_bare", lambda: driver.do(f"calls bare x {burst}")),
                 ("burst", lambda: driver.do(f"calls aggregator {stage.create_round()} {burst}"))]
        for name, call in kinds if repeat % 2 == 0 else reversed(kinds):
            record_calls(repeat, name, call(), record)
        streamed = driver.do(f"stream {stage.create_round()}")
        record(repeat, "stream_per_second", rate(streamed))
        record(repeat, "stream_refused", streamed["refused"])
        say(f"pair {repeat + 1} of {plan['repeats']}")
    record_memory(memory, record)


def connect_and_measure(stage, count, plan, record, say):
    say(f"connects {count:,} senders")
    record(0, "connections", count)
    stage.start_senders(count)
    say("connected")
    measure_beside_bare(stage, count, plan, record, say)


def connections(make_stage, plan, record, say):
    """Many connections and one gateway; the store is RocksDB."""
    with make_stage("connections") as stage:
        stage.start_aggregator()
        connect_and_measure(stage, plan["connections"], plan, record, say)
        stage.stop()
        record_count(stage.count(), record)


def postgres(make_stage, plan, record, say):
    """The same with PostgreSQL."""
    import postgres as servers  # of tests/e2e
    if servers.missing():
        say(f"left out: {servers.missing()}")
        return
    with servers.Postgres() as database, make_stage("postgres") as stage:
        uri_file = stage.blink.folder / "store.uri"
        uri_file.write_text(database.uri() + "\n")
        uri_file.chmod(0o600)
        stage.start_aggregator("--store-file", uri_file)
        connect_and_measure(stage, plan["postgres_connections"], plan, record, say)
        stage.stop()
        record_count(stage.count(database.uri()), record)


def restart(make_stage, plan, record, say):
    """All nodes wait for the end of a round. The aggregator is killed and started again."""
    with make_stage("restart") as stage:
        stage.start_aggregator()
        stage.start_senders(1, bare=False)
        say(f"makes certificates for {plan['connections']:,} nodes")
        stage.driver.do(f"nodes {plan['connections']}")
        round_id = stage.create_round()
        spread, settle, after = plan["poll_seconds"]
        stage.driver.begin(f"wait {round_id} {spread + settle + after} {spread}")
        time.sleep(spread + settle)
        killed = stage.kill_aggregator()
        ready = []
        watcher = threading.Thread(target=lambda: ready.append(stage.wait_for_port()))
        watcher.start()
        stage.start_aggregator()
        watcher.join()
        record(0, "down_seconds", ready[0] - killed)
        say("the aggregator is back")
        polled = stage.driver.end()
        record(0, "aggregator_cpu_seconds", cpu_seconds(stage.blink.aggregator.pid))
        record(0, "senders_cpu_seconds", cpu_seconds(stage.driver.popen.pid))
        record(0, "calls_answered", sum(when >= ready[0] for answers in polled["answers"] for when, _ in answers))
        served, windows, never = [], [], 0
        for answers in polled["answers"]:
            windows += [end for when, end in answers if when < killed][-1:]
            later = [when for when, _ in answers if when >= ready[0]]
            if later:
                served.append(later[0] - ready[0])
            else:
                never += 1
        served.sort()
        record(0, "nodes", len(polled["answers"]))
        record(0, "never_served", never)
        record(0, "failed_calls", polled["failures"])
        record(0, "window_end_seconds", max(windows))
        record(0, "served_p50_seconds", served[len(served) // 2])
        record(0, "served_p99_seconds", served[int(0.99 * (len(served) - 1))])
        record(0, "served_last_seconds", served[-1])
        for second in range(int(served[-1]) + 1):
            record(second, "served_in_second", sum(second <= when < second + 1 for when in served))
        stage.stop()


def slow_disk(make_stage, plan, record, say):
    """Gateways send several rounds at a disk as it is, and at one of so many bytes a second."""
    library = plan["slow_disk"]
    if not library.exists():
        say(f"left out: there is no {library}")
        return
    for name, prefix in (("fast", ()), ("slow", ("env", f"LD_PRELOAD={library}",
                                                 f"SLOW_DISK_BYTES_PER_SECOND={plan['disk_bytes_per_second']}"))):
        with make_stage(f"{name}-disk") as stage:
            stage.start_aggregator(prefix=(*prefix, f"SLOW_DISK_ROOT={stage.blink.data}") if prefix else ())
            stage.start_senders(1, gateways=plan["gateways"], bare=False)
            stage.driver.do(f"stream {stage.create_round()}")
            rounds = [stage.create_round() for _ in range(plan["slow_rounds"])]
            memory = Memory(stage.blink.aggregator.pid)
            streamed = stage.driver.do(f"stream {','.join(rounds)}")
            say(f"{name}: {streamed['reports']:,} reports in {streamed['seconds']:.1f} s")
            record(0, f"{name}_per_second", rate(streamed))
            record(0, f"{name}_refused", streamed["refused"])
            record_memory(memory, record.with_prefix(f"{name}_"))
            stage.kill_aggregator()
            stage.stop()
            record_count(stage.count(), record.with_prefix(f"{name}_"))


def training(make_stage, plan, record, say):
    """Reports arrive while the worker of another round trains, and while that worker is stopped."""
    for nice in plan["nice"]:
        with make_stage(f"training-{nice}") as stage:
            stage.start_aggregator("--worker-nice", nice)
            stage.start_senders(plan["training_connections"])
            trained = stage.create_round("--variant", "hybrid", "--epochs", 100_000)
            stage.driver.do(f"stream {trained}")
            stage.seal(trained)
            worker = stage.worker(trained)
            calls = f"{plan['in_flight']}"
            with stopped(worker):
                stage.driver.do(f"calls aggregator {stage.create_round()} {calls}")  # warms up
            for repeat in range(plan["repeats"]):
                def pair(beside):
                    called = stage.driver.do(f"calls aggregator {stage.create_round()} {calls}")
                    streamed = stage.driver.do(f"stream {stage.create_round()}")
                    record_calls(repeat, f"nice_{nice}_{beside}", called, record)
                    record(repeat, f"nice_{nice}_{beside}_stream_per_second", rate(streamed))

                for beside in ("alone", "training") if repeat % 2 == 0 else ("training", "alone"):
                    if beside == "alone":
                        with stopped(worker):
                            pair(beside)
                    else:
                        pair(beside)
                say(f"worker at niceness {nice}: pair {repeat + 1} of {plan['repeats']}")
            state = stage.blink.state(trained)
            if state != "training":
                raise Failed(f"the training had ended before the measurement did: the round is {state}")
            stage.stop()
            record_count(stage.count(), record.with_prefix(f"nice_{nice}_"))


PARTS = {"connections": connections, "postgres": postgres, "restart": restart, "slow_disk": slow_disk,
         "training": training}
