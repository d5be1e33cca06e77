"""The notebook runs, cell by cell, and finds what its text says."""
import json
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[1] / "notebooks" / "denoise.ipynb"


def cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


def test_every_cell_runs():
    pytest.importorskip("torch_geometric")
    names: dict = {}
    for number, cell in enumerate(cells()):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)  # pylint: disable=exec-used
    accuracy = names["accuracy"]
    assert accuracy["true links"] > accuracy["features only"], accuracy
    assert accuracy["denoised"] > accuracy["features only"], accuracy
    assert names["private"].privacy_loss.epsilon_per_link == 8


def test_it_holds_no_output_of_an_earlier_run():
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells())
