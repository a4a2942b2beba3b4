"""Serve pages of a document and 100 resources: `serve_page.py PAGE_BYTES HTML_BYTES`, port 8000.

`/?N` is page N; its resources `/N/0` to `/N/99` share what is left of the page, log-normal with a
standard deviation of the logarithm of 1, as in headend's `web` application. Nothing is to be kept
by the browser.
"""

import http.server
import random
import re
import socket
import sys

RESOURCES = 100
page, html = map(int, sys.argv[1:3])


def draw_sizes(number: str) -> list[int]:
    """Give the sizes of a page's resources."""
    stream = random.Random(number)
    drawn = [stream.lognormvariate(0, 1) for _ in range(RESOURCES)]
    return [max(1, round(one * (page - html) / sum(drawn))) for one in drawn]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answer with a page or a resource."""

    protocol_version = "HTTP/1.1"
    # Headers and body leave together.
    wbufsize = 1 << 20

    def do_GET(self) -> None:
        """Answer."""
        if found := re.fullmatch(r"/\?(\d+)", self.path):
            images = "".join(f'<img src="/{found[1]}/{own}">' for own in range(RESOURCES))
            body = f"<!doctype html><link rel=icon href=data:,>{images}".encode().ljust(html)
            self._answer("text/html", body)
        elif found := re.fullmatch(r"/(\d+)/(\d+)", self.path):
            self._answer("image/png", bytes(draw_sizes(found[1])[int(found[2])]))
        else:
            self.send_error(404)

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class Server(http.server.ThreadingHTTPServer):
    """A server that sends small answers at once."""

    def handle_error(self, *_: object) -> None:
        """Keep quiet about a browser that leaves."""

    def process_request(self, request: object, client_address: object) -> None:
        """Begin a connection."""
        assert isinstance(request, socket.socket)
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().process_request(request, client_address)


Server(("", 8000), Handler).serve_forever()
