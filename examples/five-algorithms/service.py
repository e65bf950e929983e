"""The service behind the limits: every path answers what it would have done. service.py [PORT]"""

import http.server
import json
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # a response in one write

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"done": self.path}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, format, *args):
        pass


port = int(sys.argv[1]) if sys.argv[1:] else 3000
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
print(f"listens on {server.server_port}", flush=True)
server.serve_forever()
