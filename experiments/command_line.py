"""The command line of the scripts of this folder."""
import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools" / "sweep"))
from blink_sweep import arguments  # noqa: E402


class _Store(arguments.Store):
    def __call__(self, parser, namespace, values, option_string=None):
        super().__call__(parser, namespace, values, option_string)
        if isinstance(values, list):
            doubled = sorted({str(value) for value in values if values.count(value) > 1})
            if doubled:
                raise argparse.ArgumentError(self, f"names {', '.join(doubled)} more than once: name each once")


class Parser(arguments.Parser):
    """Refuses an option that is given twice, a value that a list names twice, and an option's name cut short. The plain
    one would take the last of them, or run the same twice, without a word."""

    def __init__(self, description):
        super().__init__(description=description)
        self.register("action", None, _Store)
        self.register("action", "store", _Store)

    error = argparse.ArgumentParser.error  # ends the script
