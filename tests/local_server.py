"""A server on this machine that serves files, or fails as networks do."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

FOLDER = "全唐诗"

Act = Callable[[BaseHTTPRequestHandler, bytes], None]


class Server(ThreadingHTTPServer):
    """Serves files by name. `acts` replaces the first answers for a name."""

    daemon_threads = True

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.acts: dict[str, list[Act]] = {}
        self.requests: Counter[str] = Counter()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{quote(FOLDER)}/"

    def handle_error(self, *_: object) -> None:
        """Clients that disconnect early are expected."""

    def __enter__(self) -> "Server":
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        self.send_error(404)

    def do_GET(self) -> None:
        folder, name = unquote(self.path).lstrip("/").split("/")
        assert folder == FOLDER
        self.server.requests[name] += 1
        acts = self.server.acts.get(name)
        (acts.pop(0) if acts else whole)(self, self.server.files[name])

    def log_message(self, *_: object) -> None:
        pass


def send(handler: BaseHTTPRequestHandler, content: bytes, length: int) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(length))
    handler.end_headers()
    handler.wfile.write(content)


def whole(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    send(handler, content, len(content))


def truncated(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    send(handler, content[:100], len(content))


def truncated_without_length(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(content[:100])


def changed(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    whole(handler, b"changed")


def endless(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.closing.is_set():
        handler.wfile.write(bytes(100_000))


def trickling(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """Send the right content, a byte at a time: no wait is long, but the whole takes too long."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    trickle(handler, content)


def trickling_header(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    trickle(handler, b"HTTP/1.0 200 OK\r\nX-Long: " + bytes(60_000))


def trickle(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    for byte in content:
        if handler.server.closing.wait(0.05):
            return
        handler.wfile.write(bytes([byte]))


def hanging(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.server.closing.wait(10)


def hanging_halfway(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    send(handler, content[:100], len(content))
    handler.server.closing.wait(10)


def status(code: int) -> Act:
    return lambda handler, content: handler.send_error(code)
