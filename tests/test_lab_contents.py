"""A real JupyterLab, started by notebooks/lab.py, writes to work/ and not to notebooks/."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import BlockingKernelClient
from nbformat.v4 import new_code_cell, new_notebook

CHECKOUT = Path(__file__).resolve().parent.parent
CHAPTER = "notebooks/03_small.ipynb"
SOLUTIONS = "notebooks/solutions/03_small_solutions.ipynb"
COPY = "work/03_small.ipynb"

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the checkout, with one chapter."""
    root = tmp_path_factory.mktemp("course")
    (root / "notebooks" / "solutions").mkdir(parents=True)
    for name in ("lab.py", "lab_contents.py"):
        shutil.copy(CHECKOUT / "notebooks" / name, root / "notebooks" / name)
    for name in (CHAPTER, SOLUTIONS):
        nbformat.write(new_notebook(cells=[new_code_cell("6 * 7", id="a")], metadata=METADATA), root / name)
    return root


@contextlib.contextmanager
def started(course: Path, *arguments: str) -> Iterator[Ask]:
    """Start notebooks/lab.py, and give a function that asks its server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    folders = {f"JUPYTER_{name}_DIR": str(course / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    paths = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH", "")]))
    options = ["--no-browser", "--ip=127.0.0.1", "--port", port, "--IdentityProvider.token=secret"]
    server = subprocess.Popen(
        [sys.executable, str(course / "notebooks" / "lab.py"), *options, *arguments],
        env=os.environ | folders | {"PYTHONPATH": paths, "BPE_DATA": str(course)},
        cwd=course,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ask = functools.partial(answer_of, f"http://127.0.0.1:{port}/api/")
    try:
        wait_for(ask, server)
        yield ask
    finally:
        server.terminate()
        server.wait(30)


def wait_for(ask: Ask, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            ask("GET", "status")
            return
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab does not answer; its exit status: {server.poll()}")


def answer_of(address: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """Send a request; return the status and the answer."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": "token secret"}
    request = urllib.request.Request(address + path, content, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    return status, json.loads(text) if text else None


@pytest.fixture(scope="module")
def ask(course: Path) -> Iterator[Ask]:
    with started(course) as ask:
        yield ask


def changed() -> dict[str, object]:
    content = json.loads(nbformat.writes(new_notebook(cells=[new_code_cell("changed", id="a")])))
    return {"type": "notebook", "format": "json", "content": content}


@pytest.mark.parametrize("path", [CHAPTER, SOLUTIONS])
def test_chapters_and_solutions_are_read_only(course: Path, ask: Ask, path: str) -> None:
    before = (course / path).read_bytes()
    status, model = ask("GET", f"contents/{path}")
    assert (status, model["writable"]) == (200, False)
    for method, body in (("PUT", changed()), ("PATCH", {"path": "work/stolen.ipynb"}), ("DELETE", None)):
        status, answer = ask(method, f"contents/{path}", body)
        assert status == 403, method
        assert f"{path} is read-only: work in your copy, in work/." in answer["message"]
    assert (course / path).read_bytes() == before


def test_a_notebook_has_the_metadata_that_its_kernel_would_set(course: Path, ask: Ask) -> None:
    """Otherwise JupyterLab would mark it as unsaved."""
    metadata = ask("GET", f"contents/{CHAPTER}")[1]["content"]["metadata"]
    kernel = ask("GET", "kernelspecs")[1]["kernelspecs"]["python3"]["spec"]
    assert metadata["kernelspec"]["display_name"] == kernel["display_name"]
    assert metadata["language_info"] == {"name": "python", "version": platform.python_version()}
    assert "version" not in (course / CHAPTER).read_text(encoding="utf-8")


def test_nothing_gets_into_the_folder_of_chapters(course: Path, ask: Ask) -> None:
    before = sorted(course.glob("notebooks/**/*"))
    assert ask("PUT", "contents/notebooks/new.ipynb", changed())[0] == 403
    assert ask("POST", "contents/notebooks", {"type": "notebook"})[0] == 403
    assert ask("PATCH", f"contents/{COPY}", {"path": CHAPTER.replace("03", "04")})[0] == 403
    assert ask("DELETE", "contents/notebooks")[0] == 403
    assert sorted(course.glob("notebooks/**/*")) == before


def test_working_copies_stay_writable(course: Path, ask: Ask) -> None:
    assert ask("GET", f"contents/{COPY}?content=0")[1]["writable"] is True
    assert ask("PUT", f"contents/{COPY}", changed())[0] == 200
    assert "changed" in (course / COPY).read_text(encoding="utf-8")
    assert ask("POST", "contents/work", {"copy_from": CHAPTER})[0] == 201


def test_a_checkpoint_cannot_replace_a_chapter(course: Path, ask: Ask) -> None:
    before = (course / CHAPTER).read_bytes()
    status, checkpoint = ask("POST", f"contents/{CHAPTER}/checkpoints", {})
    assert status == 201
    assert ask("POST", f"contents/{CHAPTER}/checkpoints/{checkpoint['id']}", {})[0] == 403
    assert (course / CHAPTER).read_bytes() == before


def test_cells_of_a_read_only_notebook_run(course: Path, ask: Ask) -> None:
    session = {"path": CHAPTER, "name": "", "type": "notebook", "kernel": {"name": "python3"}}
    status, answer = ask("POST", "sessions", session)
    assert status == 201
    kernel = answer["kernel"]["id"]
    client = BlockingKernelClient(connection_file=str(course / "RUNTIME" / f"kernel-{kernel}.json"))
    client.load_connection_file()
    client.start_channels()
    printed: list[str] = []
    try:
        client.wait_for_ready(timeout=60)
        client.execute_interactive(
            "from pathlib import Path; print(Path.cwd().name, 6 * 7)",
            timeout=60,
            output_hook=lambda message: printed.append(message["content"].get("text", "")),
        )
    finally:
        client.stop_channels()
        ask("DELETE", f"sessions/{answer['id']}")
    assert "".join(printed) == "notebooks 42\n"


def test_authors_may_edit(course: Path) -> None:
    with started(course, "--edit") as ask:
        assert ask("GET", f"contents/{SOLUTIONS}?content=0")[1]["writable"] is True
        assert ask("PUT", f"contents/{SOLUTIONS}", changed())[0] == 200
