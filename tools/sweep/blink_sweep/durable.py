"""Lines that are on the disk before they count."""
import contextlib
import os


def append(descriptor, data):
    """All of the data at the end of the file, durably, or OSError and nothing of it."""
    before = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            raise OSError(f"{written} of {len(data)} bytes were written; is the disk full?")
        os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, before)
        raise
