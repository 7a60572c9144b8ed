"""The root file systems that a container engine would make: Debian's packages by mmdebstrap (kept in the build directory),
and on top of them what docker/Dockerfile copies and runs."""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import shlex
import subprocess

import suite
from broker import PROJECT, barnabas_binary

DOCKER = PROJECT / "docker"
SUITE = "bookworm"
# As in Debian's slim images: nobody reads manuals in a container.
LEFT_OUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")


def require():
    """What every test here needs: to be root, and the tools."""
    if os.geteuid() != 0:
        suite.skip("root is needed to make a root file system and namespaces")
    suite.require_tools("mmdebstrap", "unshare", "nsenter", "kcat", "openssl", "strip")
    if subprocess.run(["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "true"]).returncode != 0:
        suite.skip("no namespaces can be made here")


def debian():
    """The directory with Debian and the packages of docker/packages; made once."""
    packages = (DOCKER / "packages").read_text().split()
    command = ["mmdebstrap", "--mode=root", "--variant=essential", "--quiet", f"--include={','.join(packages)}",
               "--aptopt=Apt::Install-Recommends \"false\"", *[f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT],
               "--dpkgopt=path-include=/usr/share/doc/*/copyright", "--format=directory", SUITE]
    home = suite.build_directory("container")
    made = home / f"debian-{hashlib.sha256(' '.join(command).encode()).hexdigest()[:16]}"
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        if not made.exists():
            for old in home.glob("debian-*"):
                shutil.rmtree(old)
            partial = home / "debian-partial"
            if subprocess.run([*command, partial], stdin=subprocess.DEVNULL).returncode != 0:
                suite.skip("mmdebstrap could not make Debian's root file system")
            partial.rename(made)
    return made


def image():
    """A new directory with what the last stage of docker/Dockerfile makes."""
    root = suite.build_directory("container") / "image"
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", debian(), root], check=True)
    subprocess.run(["cp", "-r", "--preserve=mode", f"{DOCKER / 'rootfs'}/.", root], check=True)
    subprocess.run(["strip", "--strip-debug", "-o", root / "usr/bin/barnabas", barnabas_binary()], check=True)
    shutil.copy(DOCKER / "prepare", root / "tmp" / "prepare")
    subprocess.run(["chroot", root, "/tmp/prepare"], check=True)
    (root / "tmp" / "prepare").unlink()
    lacking = [line.split()[0] for line in subprocess.run(
        ["chroot", root, "ldd", "/usr/bin/barnabas"], capture_output=True, text=True).stdout.splitlines() if "not found" in line]
    if lacking:
        raise SystemExit(f"FAILED: docker/packages lacks what the binary needs: {' '.join(lacking)}")
    return root


def instructions():
    """What the last stage of docker/Dockerfile says: USER, WORKDIR, CMD, VOLUME, EXPOSE."""
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ").rpartition("\nFROM ")[2]
    found = dict(re.findall(r"^(USER|WORKDIR|CMD|VOLUME|EXPOSE) (.*)$", text, re.MULTILINE))
    for name in ("CMD", "VOLUME"):
        found[name] = [shlex.split(item)[0] for item in found[name].strip("[]").split(",")]
    return found
