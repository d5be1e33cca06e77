"""Command lines that take nothing silently: no flag twice, no name cut short."""
import argparse
import re

from blink_sweep.ending import wrong_flags


def _note(action, parser, option):
    if option is not None and action.dest in parser.given:
        raise argparse.ArgumentError(action, "is given more than once: give it once")
    parser.given.add(action.dest)


class Store(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        _note(self, parser, option_string)
        setattr(namespace, self.dest, values)


class _StoreTrue(argparse.Action):
    def __init__(self, option_strings, dest, default=False, required=False, help=None):
        super().__init__(option_strings, dest, nargs=0, const=True, default=default, required=required, help=help)

    def __call__(self, parser, namespace, values, option_string=None):
        _note(self, parser, option_string)
        setattr(namespace, self.dest, True)


class Words(argparse.Action):
    """Values with blanks or commas between them."""

    def __call__(self, parser, namespace, values, option_string=None):
        _note(self, parser, option_string)
        text = " ".join(values)
        words = re.split(r"\s*,\s*|\s+", text.strip())
        if "" in words:
            raise argparse.ArgumentError(self, f"'{text}' has an empty value: write one comma between two values")
        setattr(namespace, self.dest, words)


class Setting(argparse.Action):
    """NAME=VALUE, or NAME alone for a flag that takes none; several times, each with another name."""

    def __call__(self, parser, namespace, value, option_string=None):
        name, equals, text = value.partition("=")
        name = name.removeprefix("--")
        found = dict(getattr(namespace, self.dest) or {})
        if name in found:
            raise argparse.ArgumentError(self, f"gives {name} more than once: give it once")
        setattr(namespace, self.dest, {**found, name: text if equals else ""})


class Parser(argparse.ArgumentParser):
    """Raises the Refusal of wrong flags."""

    def __init__(self, **options):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)
        self.given = set()
        self.register("action", None, Store)
        self.register("action", "store", Store)
        self.register("action", "store_true", _StoreTrue)

    def parse_known_args(self, args=None, namespace=None):
        self.given.clear()
        return super().parse_known_args(args, namespace)

    def error(self, message):
        raise wrong_flags(message)
