"""The trials that a description asks for."""
import dataclasses
import decimal
import hashlib
import itertools
import json

EPSILON_MIN, EPSILON_MAX = "0.000001", "50"

# What a mechanism can be combined with. The rest of a crossing does not multiply its trials.
ESTIMATING = ("blink", "one-end")  # with a prior, a variant and a degree share
PRIVATE = ("blink", "one-end", "rr", "symrr", "ldpgcn", "dprr", "ldpgen", "solitude")
BOUNDS = ("true", "mlp", "features-only")  # between which every accuracy lies; they have no budget
MECHANISMS = PRIVATE + BOUNDS
OTHER_NAMES = {"none": "true"}  # what `blink simulate --mechanism` calls it


@dataclasses.dataclass(frozen=True)
class Setting:
    """All that decides a trial but the data set and the seed. Empty: not given, so the default of `blink simulate`."""

    mechanism: str
    epsilon: str = ""
    model: str = ""
    prior: str = ""
    variant: str = ""
    degree_share: str = ""
    options: tuple = ()  # of further flags of `blink simulate`: (name, value), sorted

    def __str__(self):
        parts = [self.mechanism, self.prior, self.variant, self.model,
                 self.epsilon and f"epsilon {self.epsilon}", self.degree_share and f"share {self.degree_share}"]
        return " ".join(part for part in parts if part)


@dataclasses.dataclass(frozen=True)
class DatasetFacts:
    """A data-set folder, as `blink dataset info` describes it."""

    name: str
    path: str
    sha256: str
    nodes: int
    links: int
    isolated: int


@dataclasses.dataclass(frozen=True)
class Trial:
    dataset: DatasetFacts
    setting: Setting
    index: int
    seed: int

    def identity(self):
        """Everything that decides the trial but the program. Threads and the place of the data set decide nothing."""
        setting = dataclasses.asdict(self.setting)
        setting["options"] = dict(self.setting.options)
        return {"dataset": self.dataset.name, "dataset_sha256": self.dataset.sha256, **setting, "trial": self.index,
                "seed": self.seed}

    @property
    def key(self):
        return key_of(self.identity())

    @property
    def family(self):
        """Trials that take about as long."""
        return (self.dataset.name, self.setting.mechanism, self.setting.model, self.setting.prior,
                self.setting.variant)

    def __str__(self):
        return f"{self.dataset.name} {self.setting}, trial {self.index}"


def key_of(identity):
    """The name of a trial in the file of lines. The data set counts by its content, not by its name."""
    decides = {name: value for name, value in identity.items() if name not in ("dataset", "trial")}
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]


def number(text, what, low, high):
    """The shortest decimal of `text`, which must be in [low, high] (as texts), with at most six decimals."""
    try:
        value = decimal.Decimal(str(text))
    except decimal.InvalidOperation:
        raise ValueError(f"{what} is '{text}': it must be a number") from None
    if not value.is_finite() or not decimal.Decimal(low) <= value <= decimal.Decimal(high):
        raise ValueError(f"{what} is {text}: it must be in {low} .. {high}")
    if value != round(value, 6):
        raise ValueError(f"{what} is {text}: at most six decimals count")
    return f"{value.normalize():f}"


def numbers(items, what, low, high):
    """A list of numbers and ranges: "2", "1:8" (steps of 1), "0.5:3:0.5"."""
    found = []
    for item in items:
        parts = str(item).split(":")
        if len(parts) > 3:
            raise ValueError(f"{what} is '{item}': a range is FROM:TO or FROM:TO:STEP")
        ends = [decimal.Decimal(number(part, what, low, high)) for part in parts[:2]]
        step = decimal.Decimal(number(parts[2], f"the step of {what}", EPSILON_MIN, high)) if len(parts) == 3 else 1
        value = ends[0]
        if value > ends[-1]:
            raise ValueError(f"{what} is '{item}': the range is empty")
        while value <= ends[-1]:
            found.append(f"{value.normalize():f}")
            value += step
    return list(dict.fromkeys(found))


def settings_of(part):
    """The crossing of a part of a description (description.Part), each combination once."""
    found = []
    for mechanism in part.mechanism:
        estimating = mechanism in ESTIMATING
        for values in itertools.product(part.epsilon if mechanism in PRIVATE else [""],
                                        part.model if mechanism not in ("mlp", "features-only") else [""],
                                        part.prior if estimating else [""],
                                        part.variant if estimating else [""],
                                        part.degree_share if estimating else [""]):
            found.append(Setting(mechanism, *values, options=tuple(sorted(part.options.items()))))
    return list(dict.fromkeys(found))


def trials_of(parts, datasets):
    """Every trial once, the first of each setting before the second of any: a sweep that is ended early has something
    of everything."""
    found = {}
    for dataset in datasets:
        for part in parts:
            for setting in settings_of(part):
                for index in range(part.trials):
                    trial = Trial(dataset, setting, index, part.seed + index)
                    found.setdefault(trial.key, trial)
    return sorted(found.values(), key=lambda trial: trial.index)
