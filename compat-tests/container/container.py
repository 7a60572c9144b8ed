"""A container without an engine: a root file system of its own (changes are lost), a network of its own with nothing but
loopback, so that the ports can be those of the image, and a first process."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import root_file_system

TIMEOUT_S = 60
_POLL_S = 0.05
_ENTER = pathlib.Path(__file__).resolve().parent / "enter.py"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Container:
    """`user` is "uid:gid"; what is not given is as the Dockerfile says. `hosts`: more names of this container. `mounts`:
    directories of the machine, by path inside."""

    def __init__(self, root, command=None, environment=None, user=None, hostname="c0ffee123456", hosts=(), files=None,
                 mounts=None, directory=None):
        said = root_file_system.instructions()
        uid, gid = map(int, (user or said["USER"]).split(":"))
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-test-container-"))
        self.log_path = self.home / "log"
        scratch = self.home / "scratch"
        scratch.mkdir()
        self._spec = {
            "root": str(root), "scratch": str(scratch), "hostname": hostname, "hosts": list(hosts), "user": uid,
            "group": gid, "directory": directory or said["WORKDIR"], "files": files or {},
            "mounts": {path: str(directory) for path, directory in (mounts or {}).items()},
            "environment": {"PATH": _PATH, "HOSTNAME": hostname} | (environment or {}),
            "command": command or said["CMD"],
        }
        self._unshare = None
        self._pid = None

    def start(self):
        command = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child=SIGKILL", "--",
                   sys.executable, "-B", str(_ENTER), json.dumps(self._spec)]
        with open(self.log_path, "ab") as log:
            self._unshare = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        return self

    @property
    def pid(self):
        """Of the first process, as the machine numbers it, once it is in its own root: what is done to it before would be
        done to this machine."""
        if self._pid is None:
            self._await(self._first_process, "first process in its root")
            self._pid = self._first_process()
        return self._pid

    def _children(self):
        parent = self._unshare.pid
        try:
            return [int(pid) for pid in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        except OSError:
            return []

    def _first_process(self):
        try:
            pid, = self._children()
            inside, outside = os.stat(f"/proc/{pid}/root/"), os.stat("/")
        except (ValueError, OSError):
            return None
        return None if os.path.samestat(inside, outside) else pid

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def _await(self, condition, what):
        deadline = time.monotonic() + TIMEOUT_S
        while not (found := condition()):
            if self._unshare.poll() is not None:
                raise AssertionError(f"ended with {self._unshare.returncode} before {what}:\n{self.log}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no {what} in {TIMEOUT_S} s:\n{self.log}")
            time.sleep(_POLL_S)
        return found

    def await_true(self, condition, what, said=None):
        """`said` gives what to show when it does not come."""
        try:
            self._await(condition, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{said() if said else ''}") from None

    def await_log(self, text):
        self._await(lambda: text in self.log, f"line with {text!r}")

    def copy_in(self, path, text, mode):
        """As an engine copies a file into a running container: it appears whole, and is root's."""
        inside = self.path(path)
        whole = inside.with_name(inside.name + ".whole")
        whole.write_text(text)
        whole.chmod(mode)
        whole.rename(inside)

    def run(self, *command, stdin="", check=True):
        """A program of this machine in the container's network; what it prints."""
        done = subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *map(str, command)], input=stdin,
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stderr}\n{self.log}")
        return done.stdout

    def inside(self, *command, stdin="", check=True):
        """A program of the container, as its root; what it prints, errors too."""
        done = subprocess.run(["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root",
                               "--wdns=/", "--", *map(str, command)], input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S,
                              env={"PATH": _PATH, "DEBIAN_FRONTEND": "noninteractive"})
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def path(self, inside):
        return pathlib.Path(f"/proc/{self.pid}/root/{inside.lstrip('/')}")

    def stop(self):
        """SIGTERM to the first process; the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def wait(self):
        return self._unshare.wait(TIMEOUT_S)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        # unshare's --kill-child is forgotten when the child becomes another user. With its first process all others of
        # the container end.
        for pid in self._children():
            os.kill(pid, signal.SIGKILL)
        self._unshare.kill()
        self._unshare.wait()
        shutil.rmtree(self.home, ignore_errors=True)
