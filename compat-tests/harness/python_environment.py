"""A Python that has a client: a virtual environment under build/compat with what the requirements.txt in the client's
folder pins, made when it is wanted first."""

import fcntl
import os
import pathlib
import subprocess
import sys
import venv

import suite

CLIENTS = pathlib.Path(__file__).resolve().parents[1]


def python(client):
    """The path of the Python that has this client (its folder's name)."""
    home = suite.build_directory(client) / "venv"
    with open(home.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        _install(home, CLIENTS / client / "requirements.txt")
    return home / "bin" / "python"


def enter(client, program):
    """Become that Python, running `program` (its path) from the start, unless it is that already."""
    if sys.prefix.startswith(str(suite.build_directory(client) / "venv")):
        return
    path = python(client)
    os.execv(path, [path, "-B", program, *sys.argv[1:]])


def _install(home, requirements):
    installed = home / "requirements.txt"
    if not installed.exists() or installed.read_text() != requirements.read_text():
        try:
            venv.create(home, clear=True, with_pip=True)
        except subprocess.CalledProcessError as error:
            suite.skip(f"no virtual environment can be made ({error}); on Debian: python3-venv")
        pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary=:all:", "-r", requirements]
        if subprocess.run(pip, stdin=subprocess.DEVNULL).returncode != 0:
            suite.skip("pip could not install " + requirements.read_text().strip())
        installed.write_text(requirements.read_text())
