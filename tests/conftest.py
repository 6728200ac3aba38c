"""What the tests of the module share: hypothesis profiles, names of cases, and how to run a check.

What concerns the notebooks too is in `conftest.py` of the root.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

# No deadline: a first call may import much, and the machine may do other work too.
settings.register_profile("default", deadline=None)
settings.register_profile("full", deadline=None, max_examples=2_000)
settings.load_profile("default")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names a case that is a lambda by the line it is on; otherwise pytest would only number it."""
    code = getattr(val, "__code__", None)
    return f"line {code.co_firstlineno}" if code and code.co_name == "<lambda>" else None


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the check of an exercise on answers, and gives what it printed."""

    def run(exercise: Callable[..., object], *answers: object) -> str:
        exercise(*answers)
        return capsys.readouterr().out.strip()

    return run
