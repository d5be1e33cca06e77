"""The installed package."""
import importlib.metadata
import inspect
import subprocess
import sys

import pytest

import blink


def test_the_versions_of_module_package_and_program_agree(program):
    assert blink.__version__ == importlib.metadata.version("blink-ldp")
    printed = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    assert blink.__version__ in printed


def test_every_public_name_is_documented():
    for name in blink.__all__:
        thing = getattr(blink, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(thing), name
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_importing_it_needs_neither_torch_nor_scikit_learn():
    code = "import blink, sys; assert not {'torch', 'torch_geometric', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_budgets_are_arguments_with_names_only():
    for function in (blink.privatise, blink.Reports.from_arrays, blink.audit):
        assert inspect.signature(function).parameters["epsilon"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_transform_says_what_it_needs_where_torch_is_missing():
    code = "import sys; sys.modules['torch'] = None\nimport blink.pyg"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "pip install 'blink-ldp[pyg]'" in run.stderr


@pytest.mark.parametrize("name", ["Accountant", "Posterior", "Reports"])
def test_a_representation_shows_no_link(reports, name):
    thing = {"Accountant": blink.Accountant(), "Posterior": blink.estimate(reports), "Reports": reports}[name]
    assert repr(thing).startswith(f"<blink.{name}") and len(repr(thing)) < 120
