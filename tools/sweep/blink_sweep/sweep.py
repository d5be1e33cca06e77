"""`blink sweep`: many runs of `blink simulate`."""
import collections
import datetime
import math
import os
import pathlib
import shlex
import signal
import sys

from blink_sweep import description, ending, lines, plan, simulate
from blink_sweep.arguments import Parser, Setting, Words
from blink_sweep.ending import Refusal, wrong_flags
from blink_sweep.progress import Pace, Progress, minutes
from blink_sweep.runner import Runner

ABOUT = """Runs `blink simulate` for every combination of budgets, mechanisms, models, priors, variants, degree shares,
data sets and trials. Each finished trial is one line of JSON, on the disk before it counts. The same command
goes on where it was ended. `blink report` draws the figures.
"""
MORE = """Examples:
  blink sweep --dataset small --output trials.jsonl --epsilon 2:8:2 --model gcn graphsage --trials 2
  blink sweep --dataset small --output trials.jsonl --profile quick --jobs 2
  blink sweep --file sweep.toml --dataset small --output trials.jsonl --dry-run

Lists are separated by blanks or commas. A range is FROM:TO or FROM:TO:STEP. Mechanisms:
  blink, one-end                                   with every --prior, --variant and --degree-share
  rr, symrr, ldpgcn, dprr, ldpgen, solitude        with every --epsilon and --model
  true, mlp, features-only                         bounds, which have no budget

"""


def parser_of(beside):
    parser = Parser(prog="blink sweep", description=ABOUT, epilog=MORE + ending.EXIT_CODES)
    what = parser.add_argument_group("what is run")
    what.add_argument("--dataset", nargs="+", metavar="FOLDER", help="data-set folders, with their links")
    what.add_argument("--mechanism", nargs="+", action=Words, metavar="NAME", help="names as below (blink)")
    what.add_argument("--epsilon", nargs="+", action=Words, metavar="NUMBER", help="numbers and ranges (1:8)")
    what.add_argument("--model", nargs="+", action=Words, metavar="NAME", help="as of blink simulate (gcn)")
    what.add_argument("--prior", nargs="+", action=Words, metavar="NAME", help="beta, attributed (beta)")
    what.add_argument("--variant", nargs="+", action=Words, metavar="NAME", help="hard, soft, hybrid (hard)")
    what.add_argument("--degree-share", nargs="+", action=Words, metavar="NUMBER",
                      help="shares and ranges (the default of each budget)")
    what.add_argument("--trials", type=int, metavar="N", help="trials of each combination (5)")
    what.add_argument("--seed", type=int, metavar="N", help="trial t draws anew and trains with seed + t (1)")
    what.add_argument("--set", action=Setting, dest="set", metavar="NAME=VALUE",
                      help="another flag of `blink simulate`, as --set epochs=50; may be repeated")
    what.add_argument("--profile", choices=("quick", "full"),
                      help="all that the figures of a report need: quick takes minutes on a small graph, full hours")
    what.add_argument("--file", metavar="FILE", help="a description, .toml or .json; flags go before it")
    how = parser.add_argument_group("how it is run")
    how.add_argument("--output", metavar="FILE", required=True, help="lines of the finished trials, .jsonl")
    how.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                     help="trials side by side (%(default)s, one for each core)")
    how.add_argument("--threads", type=int, default=1, metavar="N", help="threads of a trial (%(default)s)")
    how.add_argument("--other-builds", choices=("refuse", "keep", "redo"), default="refuse",
                     help="trials in FILE that another build of blink made: refuse to start, count them, or run them "
                          "again (%(default)s)")
    how.add_argument("--blink", type=pathlib.Path, default=beside, metavar="PROGRAM", help="the program (%(default)s)")
    how.add_argument("--dry-run", action="store_true", help="print the commands, and run and write nothing")
    how.add_argument("--quiet", action="store_true", help="show no progress")
    return parser


def describe(options):
    """The description of what the flags ask for."""
    if options.profile and options.file:
        raise wrong_flags("--profile and --file both say what is run: leave out one of them")
    for name in ("jobs", "threads"):
        if not 1 <= getattr(options, name) <= 1024:
            raise wrong_flags(f"--{name} is {getattr(options, name)}: it must be in 1 .. 1024")
    tables = description.read_profile(options.profile) if options.profile else \
        description.read_file(options.file) if options.file else {}
    given = {name: getattr(options, name.replace("-", "_")) for name in description.LISTS + description.NUMBERS}
    flags = {name: value for name, value in given.items() if value is not None}
    if options.set:
        flags["set"] = options.set
    try:
        made = description.make(tables, flags)
    except ValueError as problem:
        if options.file:
            raise Refusal(f"{options.file}: {problem}") from None
        raise wrong_flags(f"--{problem}") from None
    if not made.datasets:
        raise wrong_flags("--dataset is missing: name one or more data-set folders")
    return made


def leave_out_unknown(made, program, options):
    """Mechanisms that this build of blink cannot run: a profile does without them, somebody who named one is told."""
    for part in made.parts:
        unknown = [name for name in part.mechanism if not program.can_run(name)]
        if unknown and not options.profile:
            raise Refusal(f"{program.path} has no --mechanism, which {', '.join(unknown)} needs: build a newer blink")
        part.mechanism = [name for name in part.mechanism if name not in unknown]
        if unknown:
            print(f"blink sweep: left out, since this blink cannot run it: {', '.join(unknown)}", file=sys.stderr)
        for name, values in (("model", part.model), ("prior", part.prior), ("variant", part.variant)):
            known = program.choices.get(name)
            wrong = [value for value in values if known and value not in known]
            if wrong:
                raise wrong_flags(f"--{name} names '{wrong[0]}', which is none of {', '.join(known)}")
        wrong = [name for name in part.options if name not in program.flags]
        if wrong:
            raise wrong_flags(f"--set names '{wrong[0]}', which is no flag of `blink simulate`")


def datasets_of(made, program):
    found = [program.facts_of(folder) for folder in dict.fromkeys(made.datasets)]
    for name, count in collections.Counter(facts.name for facts in found).items():
        if count > 1:
            raise Refusal(f"{count} data sets are named {name}, and figures could not tell them apart: rename a folder")
    return found


def still_to_run(trials, rows, program, options):
    """Refuses, keeps or repeats those that another build made."""
    done, todo, others = lines.newest(rows), [], []
    for trial in trials:
        row = done.get(trial.key)
        if row is not None and row["program"].get("sha256") != program.sha256:
            others.append(trial)
            if options.other_builds == "redo":
                row = None
        if row is None:
            todo.append(trial)
    if others and options.other_builds == "refuse":
        raise Refusal(f"{len(others)} finished trials in {options.output} come from another build of blink (first: "
                      f"{others[0]}): --other-builds keep counts them, --other-builds redo runs them again")
    return todo


def row_of(trial, program, result, seconds):
    """The line of a finished trial."""
    figures = simulate.figures_of(result, trial.setting)
    finite = {name: value for name, value in figures.items() if value is None or math.isfinite(value)}
    facts = trial.dataset
    told = result["program"]
    return {"format": lines.FORMAT, "key": trial.key, "trial": trial.identity(),
            "dataset": {"nodes": facts.nodes, "links": facts.links, "isolated": facts.isolated},
            "program": {"version": told.get("version"), "commit": told.get("commit"), "sha256": program.sha256},
            "figures": finite, "seconds": round(seconds, 3),
            "finished": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def text_of(figures):
    """What the progress tells of a trial."""
    if figures.get("test_accuracy") is not None:
        return f"{100 * figures['test_accuracy']:.1f} %"
    return f"mae {figures['mae']:.3g}" if figures.get("mae") is not None else "done"


def print_failures(runner):
    for trial, command, error in runner.failures:
        print(f"failed: {trial}\n  {shlex.join(command)}\n  {error[-1000:]}", file=sys.stderr)


def exit_code(runner):
    if runner.ended_by is not None:
        return 128 + runner.ended_by
    return ending.FAILED if runner.failures else ending.OK


def main(argv, beside):
    options = parser_of(beside).parse_args(argv)
    made = describe(options)
    program = simulate.Program(options.blink)
    leave_out_unknown(made, program, options)
    trials = plan.trials_of(made.parts, datasets_of(made, program))
    if not trials:
        raise wrong_flags("--mechanism leaves nothing to run")
    if options.dry_run:
        for trial in trials:
            print(shlex.join(program.command(trial, options.threads)))
        print(f"{len(trials)} trials", file=sys.stderr)
        return ending.OK
    file = lines.LinesFile(options.output)
    todo = still_to_run(trials, file.rows, program, options)
    pace = Pace()
    for row in file.rows:
        identity = row["trial"]
        pace.add(tuple(identity[name] for name in ("dataset", "mechanism", "model", "prior", "variant")),
                 row["seconds"])
    if len(todo) < len(trials) and not options.quiet:
        print(f"blink sweep: {len(trials) - len(todo)} of {len(trials)} trials are finished", file=sys.stderr)

    def record(trial, result, seconds):
        row = row_of(trial, program, result, seconds)
        file.append(row)
        return text_of(row["figures"])

    runner = Runner(todo, lambda trial: program.command(trial, options.threads), record,
                    Progress(len(todo), options.quiet), pace, options.jobs)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: runner.stop(number))
    runner.run()
    if runner.fatal:
        raise Refusal(f"stopped, with {runner.finished} of {len(todo)} trials done: {runner.fatal}", runner.fatal.code)
    print_failures(runner)
    if runner.ended_by is not None:
        print(f"blink sweep: interrupted; {runner.finished} of {len(todo)} trials are finished, and the same command "
              "goes on", file=sys.stderr)
    elif not options.quiet:
        spent = sum(row["seconds"] for row in lines.newest(file.rows).values())
        print(f"{options.output}: {len(lines.newest(file.rows))} trials, {minutes(spent)} of work", file=sys.stderr)
    return exit_code(runner)
