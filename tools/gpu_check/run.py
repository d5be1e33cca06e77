#!/usr/bin/env python3
"""Checks blink on this host's GPU: run what tools/gpu-check packed. Prints one JSON summary; its last key says whether
all passed.

    run [--device cuda:0] [--json FILE] [--quick]
    run --device cpu         # where there is no GPU: all but its figures

Needs torch 2.11.0+cu130 in the Python that runs it (or --torch DIR, the folder that holds lib/libtorch_cpu.so), and
nothing else. With torch_geometric an epoch's time stands beside torch-geometric's on the same device. Exit codes: 0
nothing failed, 1 a check failed, 2 usage, 3 no usable torch.
"""
import argparse
import json
import os
import pathlib
import sys
import tarfile
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True


def torch_folder(named):
    """The folder of the torch package, without importing it (an import needs CUDA's libraries)."""
    if named:
        return named
    import importlib.util
    found = importlib.util.find_spec("torch")
    return pathlib.Path(found.origin).parent if found and found.origin else None


def library_path(unpacked, torch):
    """lib/, then the libraries of torch and of the CUDA wheels beside it."""
    parts = [unpacked / "lib", torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))]
    return ":".join([str(part) for part in parts] + [part for part in [os.environ.get("LD_LIBRARY_PATH")] if part])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0", help="cuda:N or cpu (%(default)s)")
    parser.add_argument("--torch", type=pathlib.Path, help="folder of the torch package (this Python's)")
    parser.add_argument("--json", type=pathlib.Path, help="write the summary here as well")
    parser.add_argument("--quick", action="store_true",
                        help="small graphs and few epochs: tries the script, measures nothing")
    options = parser.parse_args()
    if options.device != "cpu" and not options.device.startswith("cuda:"):
        parser.error("--device is cpu or cuda:N")
    torch = torch_folder(options.torch)
    if torch is None or not (torch / "lib" / "libtorch_cpu.so").exists():
        print("run: no torch in this Python: pip install torch==2.11.0, or name its folder with --torch",
              file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory(prefix="blink-gpu-check-") as scratch, \
            tempfile.TemporaryDirectory(prefix="blink-gpu-check-") as programs:
        unpacked = pathlib.Path(programs)
        with tarfile.open(FOLDER / "programs.tar.gz") as packed:
            packed.extractall(unpacked)
        os.environ["BLINK_BIN_DIR"] = str(unpacked / "bin")
        os.environ["LD_LIBRARY_PATH"] = library_path(unpacked, torch)
        sys.path.insert(0, str(unpacked / "python"))
        import checks
        summary = checks.run_all(pathlib.Path(scratch), unpacked, torch, options.device, options.quick)
    text = json.dumps(summary, indent=2)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n")
    print(text)
    return 0 if summary["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
