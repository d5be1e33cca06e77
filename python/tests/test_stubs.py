"""That _core.pyi tells what the extension module has. mypy's stubtest takes no function of nanobind for a function."""
import ast
import pathlib
import re

import blink
from blink import _core

STUB = ast.parse((pathlib.Path(blink.__file__).parent / "_core.pyi").read_text())


def public(names):
    return {name for name in names if not name.startswith("_")}


def arguments_of_stub(function):
    return [argument.arg for argument in function.args.args + function.args.kwonlyargs]


def arguments_of_module(function):
    """The names in what nanobind says of it: def product(self, x: ndarray[shape=(*, *)], threads: int) -> .."""
    signature = re.search(r"\((.*)\) -> ", function.__nb_signature__[0][0]).group(1)
    depth, names, start = 0, [], 0
    for place, letter in enumerate(signature + ","):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            names.append(re.split(r"[:=]", signature[start:place])[0].strip())
            start = place + 1
    return [name for name in names if name]


def functions_of(body):
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def test_functions_and_classes_are_those_of_the_module():
    stubbed = {node.name for node in STUB.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert stubbed == public(vars(_core))


def test_functions_have_the_arguments_of_the_module():
    for name, function in functions_of(STUB.body).items():
        assert arguments_of_stub(function) == arguments_of_module(getattr(_core, name)), name


def test_classes_have_the_members_of_the_module():
    for node in STUB.body:
        if not isinstance(node, ast.ClassDef):
            continue
        members = vars(getattr(_core, node.name))
        stubbed = functions_of(node.body)
        assert set(stubbed) == public(members), node.name
        for name, function in stubbed.items():
            is_property = any(getattr(mark, "id", "") == "property" for mark in function.decorator_list)
            assert is_property == isinstance(members[name], property), f"{node.name}.{name}"
            if not is_property:
                assert arguments_of_stub(function) == arguments_of_module(members[name]), f"{node.name}.{name}"
