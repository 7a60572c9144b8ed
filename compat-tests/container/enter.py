"""Becomes the first process of a container, in namespaces that `unshare` has made: argument one is a JSON object with
`root` (the image), `scratch` (a directory to mount in), `hostname`, `hosts`, `user`, `group`, `directory`, `environment`,
`files` (path to text), `mounts` (path to directory) and `command`."""

import fcntl
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = b"lo"
        flags, = struct.unpack_from("16xh", fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh22x", name, 0)))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", name, flags | IFF_UP))


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def main():
    spec = json.loads(sys.argv[1])
    scratch = pathlib.Path(spec["scratch"])
    mount("-t", "tmpfs", "container", scratch)
    upper, work, root = (scratch / name for name in ("upper", "work", "root"))
    for directory in (upper, work, root):
        directory.mkdir()
    mount("-t", "overlay", "container", "-o", f"lowerdir={spec['root']},upperdir={upper},workdir={work}", root)
    mount("--rbind", "/dev", root / "dev")
    mount("-t", "proc", "proc", root / "proc")
    for path, directory in spec["mounts"].items():
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mount("--bind", directory, root / path.lstrip("/"))
    loopback_up()
    socket.sethostname(spec["hostname"])
    (root / "etc/hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in ("localhost", spec["hostname"], *spec["hosts"])))
    for path, text in spec["files"].items():
        (root / path.lstrip("/")).write_text(text)
    os.chroot(root)
    os.chdir(spec["directory"])
    os.setgroups([])
    os.setgid(spec["group"])
    os.setuid(spec["user"])
    os.execvpe(spec["command"][0], spec["command"], spec["environment"])


main()
