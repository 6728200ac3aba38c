"""What the page computes: the functions of live.js, run by node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import bpe

LIVE_JS = Path(bpe.__file__).parent / "live" / "live.js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node, which runs the page's script, is not installed")


def data_of(element: Any) -> dict[str, Any]:
    """The data within an element, as a page reads it."""
    [packed] = re.findall(r'<script type="application/json">(.*?)</script>', element._repr_html_(), re.DOTALL)
    return json.loads(packed)


def run(element: Any, **asked_for: Any) -> dict[str, Any]:
    """Let node do as the page does.

    texts: gives "ids", for each tokenizer of the element and each text.
    tokens: (string, whether of bytes); gives "readable".
    classes: expressions of JavaScript for one character; gives "members", as ranges of code points.
    """
    asked = json.dumps({"data": data_of(element), **asked_for})
    done = subprocess.run(
        [str(NODE), str(Path(__file__).with_name("run_live.js")), str(LIVE_JS)],
        input=asked.encode("ascii"),
        capture_output=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8")
    return json.loads(done.stdout)
