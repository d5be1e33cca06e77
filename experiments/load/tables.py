"""RESULTS.md and the figures, from results.csv and memory.csv."""
import csv
import statistics
import sys
import textwrap

COLUMNS = ("part", "repeat", "measure", "value", "load")
MEMORY_COLUMNS = ("part", "of", "seconds", "megabytes")


class Figures:
    """The rows of one part."""

    def __init__(self, rows, part):
        self.rows = [row for row in rows if row["part"] == part]

    def __bool__(self):
        return bool(self.rows)

    def all(self, measure):
        """Values by repeat."""
        return {int(row["repeat"]): float(row["value"]) for row in self.rows if row["measure"] == measure}

    def one(self, measure):
        return statistics.median(self.all(measure).values())

    def ratios(self, measure, base):
        """Of each pair."""
        values, bases = self.all(measure), self.all(base)
        return [values[repeat] / bases[repeat] for repeat in values]

    def ratio(self, measure, base):
        return statistics.median(self.ratios(measure, base))

    def share(self, measure, base):
        """The median in %, and between which values the pairs lie."""
        ratios = self.ratios(measure, base)
        return f"{100 * self.ratio(measure, base):.0f} % ({100 * min(ratios):.0f}–{100 * max(ratios):.0f})"

    def loads(self, *measures):
        loads = [float(row["load"]) for row in self.rows if row["measure"] in measures]
        return f"{min(loads):.1f}–{max(loads):.1f}"


def verdict(reached):
    return "reached" if reached else "**missed**"


def paragraph(text):
    return textwrap.fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False) + "\n"


def store_tables(figures, target, is_postgres):
    calls, share = figures.one("calls_per_second"), figures.ratio("calls_per_second", "bare_per_second")
    share_text = figures.share("calls_per_second", "bare_per_second")
    stream = figures.one("stream_per_second")
    first, last = figures.one("memory_first_third_mb"), figures.one("memory_last_third_mb")
    yield "| what | measured | target | | load |\n|---|---|---|---|---|"
    load = figures.loads("calls_per_second", "bare_per_second")
    if is_postgres:
        yield (f"| calls a second, one report each | {calls:,.0f} | ≥ {target:,} | {verdict(calls >= target)} | "
               f"{load} |\n"
               f"| their share of bare calls | {share_text} | – | | {load} |")
        yield (f"| durable reports a second in a gateway's stream | {stream:,.0f} | ≥ {target:,} | "
               f"{verdict(stream >= target)} | {figures.loads('stream_per_second')} |")
    else:
        yield (f"| calls as a share of bare calls | {share_text} | ≥ 60 % | {verdict(share >= 0.6)} | {load} |\n"
               f"| durable reports a second in a gateway's stream | {stream:,.0f} | ≥ {target:,} | "
               f"{verdict(stream >= target)} | {figures.loads('stream_per_second')} |\n"
               f"| memory, first third and last third of the run | {first:.0f} MB, {last:.0f} MB | "
               f"flat (≤ 10 % more) | {verdict(last <= 1.1 * first)} | {load} |")
    yield (f"| acknowledged reports that the reader missed, of {figures.one('reader_acknowledged'):,.0f} | "
           f"{figures.one('reader_missing'):.0f} | 0 | {verdict(figures.one('reader_missing') == 0)} | |\n")
    yield "| calls at a time | who serves | calls a second | p50, ms | p99, ms |\n|---|---|---|---|---|"
    for name, at_a_time in (("", figures.one("setting_in_flight")), ("burst_", figures.one("connections"))):
        for who, kind in (("nobody (bare)", f"{name}bare"), ("the aggregator", "burst" if name else "calls")):
            yield (f"| {at_a_time:,.0f} | {who} | {figures.one(kind + '_per_second'):,.0f} | "
                   f"{figures.one(kind + '_p50_ms'):.1f} | {figures.one(kind + '_p99_ms'):.1f} |")
    yield ""


def describe_connections(figures):
    yield "## Many connections, and a gateway\n"
    yield paragraph(f"""{figures.one('connections'):,.0f} connections, each with a certificate of its own and
        a share of the nodes. A run sends one report of each node. *Bare* is the same calls, bytes and connections to a
        service that looks at nothing and keeps nothing. The pairs are interleaved, and the ratio is the median of the
        pairs' ratios. In brackets is between which values the pairs lie.""")
    yield from store_tables(figures, 20_000, False)
    burst = figures.ratio("burst_per_second", "burst_bare_per_second")
    yield paragraph(f"""With a call on every connection at once, the share is {100 * burst:.0f} %. A call then waits
        for many others, so the latency is that of the queue.""")
    yield paragraph("""The rates are far below those on few connections, also of bare calls: one process plays all the
        devices, and its work for so many connections takes most of the processors. So only the share says something
        about the aggregator.""")


def describe_postgres(figures):
    yield "## PostgreSQL as the store\n"
    yield paragraph(f"""The same on {figures.one('connections'):,.0f} connections, with PostgreSQL 15 of Debian
        (`fsync = on`) on this machine, which shares the cores with the aggregator and the senders.""")
    yield from store_tables(figures, 3_000, True)


def describe_restart(figures):
    nodes, last = figures.one("nodes"), figures.one("served_last_seconds")
    window, never = figures.one("window_end_seconds"), figures.one("never_served")
    yield "## A restart\n"
    yield paragraph(f"""{nodes:,.0f} nodes wait for the end of a round, each on a connection of its own, by the rules of
        `blink-node`. An aggregator that waits for 5,000 peers tells them a window of 5 to 15 s, so that 500 of them
        call in a second. It is killed with SIGKILL, and started again. Its port was gone for
        {figures.one('down_seconds'):.1f} s. {figures.one('failed_calls'):,.0f} calls failed, and were repeated. Times
        count from when the port was back. The load was {figures.loads('served_last_seconds')}.""")
    yield "| what | measured | target | |\n|---|---|---|---|"
    yield f"| nodes that were not served again | {never:.0f} of {nodes:,.0f} | 0 | {verdict(never == 0)} |"
    yield (f"| the last node is served, s | {last:.1f} | ≤ {window:.1f}, the end of the retry window that they had "
           f"been told | {verdict(last <= window)} |")
    yield (f"| half of them, and 99 %, s | {figures.one('served_p50_seconds'):.1f}, "
           f"{figures.one('served_p99_seconds'):.1f} | – | |\n")
    if figures.all("aggregator_cpu_seconds"):
        yield paragraph(f"""The aggregator used {figures.one('aggregator_cpu_seconds'):.1f} s of a processor for its
            start, {nodes:,.0f} handshakes and {figures.one('calls_answered'):,.0f} calls. The senders, which share the
            processors with it, used {figures.one('senders_cpu_seconds'):.1f} s, with making their certificates.""")
    if last > window:
        yield paragraph("""Aggregator and senders share the processors with whatever else the machine does. A handshake
            that waits for a processor comes later than the window says. Nodes on machines of their own would wait for
            the aggregator's part alone.""")
    yield "| second after the start | " + " | ".join(f"{second}" for second in figures.all("served_in_second")) + " |"
    yield "|---|" + "---|" * len(figures.all("served_in_second"))
    yield "| nodes first served in it | " + " | ".join(f"{count:.0f}" for count in
                                                      figures.all("served_in_second").values()) + " |\n"


def describe_slow_disk(figures):
    slow, fast = figures.one("slow_per_second"), figures.one("fast_per_second")
    yield "## A slow disk\n"
    yield paragraph(f"""{figures.one('setting_gateways'):.0f} gateways send {figures.one('slow_reader_held'):,.0f}
        reports at a disk of {figures.one('setting_disk_bytes_per_second') / 1e6:g} MB/s. A preloaded library
        (`bench/slow_disk.cc`) holds each write of the aggregator back until such a disk would have taken it. It needs
        no rights, and it slows everything that the process writes. A limit of RocksDB's own would slow only what
        RocksDB gives it, and a cgroup's limit does not exist everywhere. Afterwards the aggregator is killed, and the
        reader opens the store.""")
    yield "| | disk as it is | slow disk | target | |\n|---|---|---|---|---|"
    yield (f"| durable reports a second | {fast:,.0f} | {slow:,.0f} ({100 * slow / fast:.0f} %) | slower | "
           f"{verdict(slow < fast)} |")
    first, last = figures.one("slow_memory_first_third_mb"), figures.one("slow_memory_last_third_mb")
    peak, fast_peak = figures.one("slow_memory_peak_mb"), figures.one("fast_memory_peak_mb")
    yield (f"| memory, highest, MB | {fast_peak:.0f} | {peak:.0f} | no more than with the disk as it is (≤ 10 %) | "
           f"{verdict(peak <= 1.1 * fast_peak)} |")
    yield (f"| memory, first third and last third, MB | {figures.one('fast_memory_first_third_mb'):.0f}, "
           f"{figures.one('fast_memory_last_third_mb'):.0f} | {first:.0f}, {last:.0f} | flat (≤ 10 % more) | "
           f"{verdict(last <= 1.1 * first)} |")
    yield (f"| reports refused, and sent again | {figures.one('fast_refused'):,.0f} | "
           f"{figures.one('slow_refused'):,.0f} | – | |")
    missing = figures.one("slow_reader_missing") + figures.one("slow_reader_different")
    yield (f"| acknowledged, and not in the store | {figures.one('fast_reader_missing'):.0f} | {missing:.0f} | 0 | "
           f"{verdict(missing == 0)} |")
    yield f"| load | {figures.loads('fast_per_second')} | {figures.loads('slow_per_second')} | | |\n"
    yield paragraph("""Memory grows in both cases until the store's write buffers and its cache are full, which is
        bounded (`rocksdb_store.h`). It does not grow with what the gateways still have. A gateway whose report does
        not fit is refused, and sends it again within the retry window of the answer.""")


def describe_training(figures):
    niceness = sorted({int(row["measure"].split("_")[1]) for row in figures.rows if row["measure"].startswith("nice_")})
    yield "## A training beside it\n"
    yield paragraph("""Reports of a round arrive while the worker of another one trains on all cores, and while that
        worker is stopped (SIGSTOP), in interleaved pairs. Senders, aggregator and worker share the two cores. With
        `--worker-nice` the worker steps back where processors are short.""")
    yield ("| --worker-nice | calls beside a training, of those alone | a stream likewise | target | | load |\n"
           "|---|---|---|---|---|---|")
    for nice in niceness:
        calls = figures.ratio(f"nice_{nice}_training_per_second", f"nice_{nice}_alone_per_second")
        stream = figures.ratio(f"nice_{nice}_training_stream_per_second", f"nice_{nice}_alone_stream_per_second")
        default = " (the default)" if nice == 10 else ""
        shares = " | ".join(figures.share(f"nice_{nice}_training{kind}", f"nice_{nice}_alone{kind}")
                            for kind in ("_per_second", "_stream_per_second"))
        yield (f"| {nice}{default} | {shares} | ≥ 80 % | "
               f"{verdict(min(calls, stream) >= 0.8)} | {figures.loads(f'nice_{nice}_training_per_second')} |")
    yield ""
    yield paragraph("""In brackets is between which values the pairs lie. They lie far apart where other work on the
        machine came and went between the halves of a pair.""")


DESCRIPTIONS = {"connections": describe_connections, "postgres": describe_postgres, "restart": describe_restart,
                "slow_disk": describe_slow_disk, "training": describe_training}

INTRODUCTION = """# What an aggregator carries

For operators who plan a deployment, and for engineers who change the way of a report. Written by
`experiments/load/run`. `results.csv` has every figure with the load average beside it, `memory.csv`
the memory of the aggregator.

- n = {nodes:,}, ε = 6, degree share 0.1. The reports are real ones, each with noise of its own. They
  arrive over mTLS, and are decoded, checked and synced before they are acknowledged.
- The aggregator is a real process, and so are the senders and the service that does nothing. All
  share {cores} cores with whatever else the machine did: **load** is the load average of the minute.
  So compare shares of pairs, and take rates for what this machine gave in that hour.
- A *reader* opens the store when the aggregator has ended. It decodes every report, and looks for
  each digest that a sender had a receipt for.
"""


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def draw(output, rows, memory):
    """Returns whether it could: matplotlib draws."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "blink"  # the same figures give the same bytes
    from matplotlib import pyplot
    restart = Figures(rows, "restart")
    if restart:
        figure, axis = pyplot.subplots(figsize=(7, 3.2))
        served = restart.all("served_in_second")
        axis.bar([second + 0.5 for second in served], served.values(), width=0.9, color="#0072B2")
        axis.axvline(restart.one("window_end_seconds"), color="#D55E00", linestyle="--",
                     label="end of the retry window")
        axis.set_xlabel("seconds after the port was back")
        axis.set_ylabel("nodes first served")
        axis.set_title(f"{restart.one('nodes'):,.0f} nodes after a restart")
        axis.legend(frameon=False)
        save(pyplot, figure, output / "restart.svg")
    if memory:
        figure, axis = pyplot.subplots(figsize=(7, 3.2))
        for (part, of), colour in zip((("connections", ""), ("postgres", ""), ("slow_disk", "fast"),
                                       ("slow_disk", "slow")), ("#0072B2", "#009E73", "#E69F00", "#D55E00")):
            points = [(float(row["seconds"]), float(row["megabytes"])) for row in memory
                      if (row["part"], row["of"]) == (part, of)]
            if points:
                axis.plot(*zip(*points), color=colour, linewidth=1.3,
                          label={"fast": "gateways", "slow": "gateways, slow disk"}.get(of, part))
        axis.set_xlabel("seconds")
        axis.set_ylabel("resident memory, MB")
        axis.set_ylim(bottom=0)
        axis.grid(linewidth=0.3)
        axis.set_title("Memory of the aggregator")
        axis.legend(frameon=False)
        save(pyplot, figure, output / "memory.svg")
    return True


def save(pyplot, figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def write(output):
    rows, memory = read(output / "results.csv"), read(output / "memory.csv")
    if not draw(output, rows, memory):
        print("no figures: matplotlib is not there (scripts/install-deps --plots)", file=sys.stderr)
    parts = {part: Figures(rows, part) for part in DESCRIPTIONS}
    nodes, cores = (next((figures.one(measure) for figures in parts.values() if figures), 0)
                    for measure in ("setting_nodes", "setting_cores"))
    with open(output / "RESULTS.md", "w") as page:
        page.write(INTRODUCTION.format(nodes=int(nodes), cores=int(cores)))
        for part, figures in parts.items():
            if all(row["measure"].startswith("setting_") for row in figures.rows):
                continue  # not measured, or left out
            page.write("\n" + "\n".join(DESCRIPTIONS[part](figures)).rstrip() + "\n")
            image = {"restart": "restart.svg", "slow_disk": "memory.svg"}.get(part)
            if image and (output / image).exists():
                page.write(f"\n![{part.replace('_', ' ')}]({image})\n")
