"""How the programs of this folder end."""
import signal
import sys

OK, FAILED, USAGE, BAD_INPUT, NO_RESOURCES, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 9, 130, 143

EXIT_CODES = """exit codes:
  0    all is there
  1    a trial failed
  2    wrong flags
  3    a file, data set or program: malformed, missing, not to be read or written
  9    a trial could not be recorded: the disk is full, or a file is larger than its limit
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
"""


class Refusal(Exception):
    """Names what does not suit, and the remedy."""

    def __init__(self, text, code=BAD_INPUT):
        super().__init__(text)
        self.code = code


def wrong_flags(text):
    return Refusal(text, USAGE)


def run(main, name):
    """Ends the process with main()'s exit code."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has gone ends it quietly
    try:
        code = main()
    except Refusal as refusal:
        print(f"blink {name}: {refusal}", file=sys.stderr)
        if refusal.code == USAGE:
            print("Run with --help for the options.", file=sys.stderr)
        code = refusal.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)
