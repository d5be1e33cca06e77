"""Which program may contain what, read from the symbols of the built programs.

    python3 linkage_test.py no-mechanism PROGRAM...   no noise is made here (the aggregator and its worker)
    python3 linkage_test.py no-seeded-noise PROGRAM... no source but the secure one (the node)
"""
import subprocess
import sys

FORBIDDEN = {
    "no-mechanism": ("blink::DrawNoise", "blink::ApplyNoise", "blink::FillBernoulli", "blink::DrawDiscreteLaplace"),
    "no-seeded-noise": ("SeededRandom", "SeededNoise", "TapeRandom", "mersenne_twister"),
}

rule, programs = sys.argv[1], sys.argv[2:]
for program in programs:
    symbols = subprocess.run(["nm", "-C", program], check=True, capture_output=True, text=True).stdout
    if "main" not in symbols:
        sys.exit(f"{program}: no symbols; build it unstripped")
    for line in symbols.splitlines():
        for name in FORBIDDEN[rule]:
            if name in line:
                sys.exit(f"{program} must not contain {name}: {line}")
print("ok")
