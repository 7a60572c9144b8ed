"""A Python that has confluent-kafka: a virtual environment under build/compat, made when it is wanted first."""

import fcntl
import os
import pathlib
import subprocess
import sys
import venv

import suite

REQUIREMENTS = pathlib.Path(__file__).resolve().parents[1] / "confluent-kafka" / "requirements.txt"


def enter(program):
    """Become the virtual environment's Python, running `program` (its path) from the start, unless it is that already."""
    home = suite.build_directory("confluent-kafka") / "venv"
    if sys.prefix.startswith(str(home)):
        return
    python = home / "bin" / "python"
    with open(home.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        _install(home, python)
    os.execv(python, [python, "-B", program, *sys.argv[1:]])


def _install(home, python):
    installed = home / "requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        try:
            venv.create(home, clear=True, with_pip=True)
        except subprocess.CalledProcessError as error:
            suite.skip(f"no virtual environment can be made ({error}); on Debian: python3-venv")
        pip = [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "-r", REQUIREMENTS]
        if subprocess.run(pip, stdin=subprocess.DEVNULL).returncode != 0:
            suite.skip("pip could not install " + REQUIREMENTS.read_text().strip())
        installed.write_text(REQUIREMENTS.read_text())
