"""What the programs written in Python share: the lines of scenario.py."""

import base64
import json
import sys

TIMEOUT_S = 30


def encoded(content):
    return None if content is None else base64.b64encode(content).decode()


def decoded(text):
    return None if text is None else base64.b64decode(text)


def told(offset, timestamp, key, value, headers):
    """A record as it was read; headers: names and values."""
    return {"offset": offset, "timestamp": timestamp, "key": encoded(key), "value": encoded(value),
            "headers": [{"name": name, "value": encoded(content)} for name, content in headers or ()]}


class Program:
    """A client has a method for each thing that it can be told to do, with the line's other fields as arguments."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def run(self):
        for line in sys.stdin:
            request = json.loads(line)
            for record in request.get("records", ()):
                record["key"], record["value"] = decoded(record["key"]), decoded(record["value"])
                record["headers"] = [(h["name"], decoded(h["value"])) for h in record["headers"]]
            do = request.pop("do")
            try:
                answer = {"ok": getattr(self, do)(**request)}
            except Exception as error:  # whatever the client throws is its answer
                answer = {"error": repr(error)}
            print(json.dumps(answer), flush=True)
