"""What the Python programs of the clients share: every way is gone in a thread of its own, and the outcomes are told one
a line, as ways.py reads them."""

import json
import threading
import time

TIMEOUT_S = 30


class Refused(Exception):
    """The broker, or the client for what the broker showed, ended it before any request."""


class Denied(Exception):
    """Let in, but not to do this."""


def deadline():
    return time.monotonic() + TIMEOUT_S


def main(ways, go):
    """`go(way)` returns the values read back, or raises."""
    lock = threading.Lock()

    def attempt(way):
        try:
            outcome, detail = "values", go(way)
        except Refused as refused:
            outcome, detail = "refused", str(refused)
        except Denied as denied:
            outcome, detail = "denied", str(denied)
        except Exception as error:  # whatever it is, the scenario judges
            outcome, detail = "error", repr(error)
        with lock:
            print(json.dumps({"way": way["name"], "outcome": outcome, "detail": detail}), flush=True)

    threads = [threading.Thread(target=attempt, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
