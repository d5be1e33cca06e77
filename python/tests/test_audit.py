"""The audit of this module's own mechanism."""
import signal

import pytest

import blink


@pytest.mark.parametrize("share", [None, 0, 1])
def test_the_mechanism_keeps_its_promise(share):
    """An honest mechanism is accused with probability at most 1e-6."""
    found = blink.audit(epsilon=2, degree_share=share, reports=20_000)
    assert found.passed and 0 < found.epsilon_lower <= 2
    assert found.findings["reports_per_list"] == 20_000 and found.findings["checks"]


@pytest.mark.parametrize("arguments, message", [
    ({"epsilon": 0}, "epsilon is 0"), ({"epsilon": 1, "nodes": 100}, "nodes is 100"),
    ({"epsilon": 1, "reports": 10}, "reports is 10"), ({"epsilon": 1, "threads": -1}, "threads is -1"),
])
def test_wrong_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        blink.audit(**arguments)


def test_arguments_have_names():
    with pytest.raises(TypeError):
        blink.audit(1)


def test_a_signal_ends_an_audit():
    def end(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            blink.audit(epsilon=2, reports=10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
