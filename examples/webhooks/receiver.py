# A receiver of webhooks. It verifies the signature, refuses what is older than five minutes, and answers before it works.
# The secret is in SECRET, the port in PORT.
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))

def is_genuine(headers, body):
    at = headers.get("webhook-timestamp", "")
    if not at.isdigit() or abs(time.time() - int(at)) >= 300:
        return False
    signed = f"{headers.get('webhook-id', '')}.{at}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, each) for each in headers.get("webhook-signature", "").split(" "))

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        is_ours = is_genuine(self.headers, body)
        self.send_response(204 if is_ours else 400)
        self.end_headers()
        if is_ours:
            print(json.loads(body)["type"], flush=True)

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
