"""How the scripts of this folder end: quietly when the reader of their output has gone, and with what is finished when
they are interrupted.
"""
import signal
import sys


def run_script(main):
    """Ends the process with main()'s code. SIGINT and SIGTERM raise KeyboardInterrupt in it, and end with 130 or 143;
    what was printed or written until then is finished."""
    ended_by = []

    def interrupt(number, frame):
        ended_by.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted: the rows so far are finished, the others are missing", file=sys.stderr)
        sys.exit(128 + ended_by[0])
