"""What the drivers of this folder share when they run many simulations."""
import hashlib


def digest_of(blink):
    """Names the build: of `blink`, and of `blink-simulate` beside it, which `blink simulate` becomes."""
    digest = hashlib.sha256(blink.read_bytes())
    simulate = blink.with_name("blink-simulate")
    if simulate.exists():
        digest.update(simulate.read_bytes())
    return digest.hexdigest()[:12]


def wait_for(futures):
    """Waits for each, and raises what one of them raised. A wait without end would now and then miss a signal that
    arrives just as it begins."""
    for future in futures:
        while True:
            try:
                future.result(timeout=1)
                break
            except TimeoutError:
                if future.done():  # its own
                    raise
