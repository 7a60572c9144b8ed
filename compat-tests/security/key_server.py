"""An endpoint of http or https that tells the keys of an issuer of tokens, and that a test may change, count and take down."""

import http.server
import ssl
import threading

from broker import HOST


class KeyServer:
    """`identity`: a server's certificate (certificates.py) for https."""

    def __init__(self, keys, identity=None):
        self.keys = keys  # the text of the answer
        self.down = False
        self.asked = 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked += 1
                body = b"" if server.down else server.keys.encode()
                self.send_response(503 if server.down else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._http = http.server.ThreadingHTTPServer((HOST, 0), Handler)
        scheme = "http"
        if identity is not None:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity.pem)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = f"{scheme}://localhost:{self._http.server_port}/keys"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
