"""The command line of the scripts of this folder."""
import argparse


def _refuse_doubled(action, parser, values):
    if action.dest in parser.given:
        raise argparse.ArgumentError(action, "is given more than once: give it once")
    parser.given.add(action.dest)
    if isinstance(values, list):
        doubled = sorted({str(value) for value in values if values.count(value) > 1})
        if doubled:
            raise argparse.ArgumentError(action, f"names {', '.join(doubled)} more than once: name each once")


class _Store(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        _refuse_doubled(self, parser, values)
        setattr(namespace, self.dest, values)


class _StoreTrue(argparse.Action):
    def __init__(self, option_strings, dest, default=False, required=False, help=None):
        super().__init__(option_strings, dest, nargs=0, const=True, default=default, required=required, help=help)

    def __call__(self, parser, namespace, values, option_string=None):
        _refuse_doubled(self, parser, None)
        setattr(namespace, self.dest, True)


class Parser(argparse.ArgumentParser):
    """Refuses an option that is given twice, a value that a list names twice, and an option's name cut short. The plain
    one would take the last of them, or run the same twice, without a word."""

    def __init__(self, description):
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter,
                         allow_abbrev=False)
        self.given = set()
        self.register("action", None, _Store)
        self.register("action", "store", _Store)
        self.register("action", "store_true", _StoreTrue)

    def parse_known_args(self, args=None, namespace=None):
        self.given.clear()
        return super().parse_known_args(args, namespace)
