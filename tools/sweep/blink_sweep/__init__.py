"""Many runs of `blink simulate`, and the figures drawn from them.

    description.py  what was asked for: flags, a TOML or JSON file, a profile
    plan.py         the trials of it
    simulate.py     one trial as a command line, and what is kept of its JSON
    lines.py        the file of finished trials
    durable.py      its lines, on the disk before they count
    runner.py       runs trials side by side; progress.py shows it
    sweep.py        `blink sweep`
    series.py       means and deviations, by what a figure shows; draw.py and page.py draw them
    report.py       `blink report`

Only draw.py needs a package, matplotlib. Exit codes are those of blink's programs.
"""
