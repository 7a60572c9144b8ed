#!/usr/bin/env python3
"""The Debian package: built from the binary that is there, checked by lintian, and installed, upgraded, removed and purged in
Debian's root file system."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for sibling in ("harness", "container"):
    sys.path.insert(0, str(HERE.parent / sibling))

import root_file_system  # noqa: E402
import suite  # noqa: E402
from broker import PROJECT, barnabas_binary  # noqa: E402
from container import Container  # noqa: E402

SETTINGS = "/etc/barnabas/server.properties"
DATA = "/var/lib/barnabas"
ADDRESS = "127.0.0.1:9092"


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def build(home):
    """The package, from the build directory that the binary is in."""
    tree = home / "barnabas"
    for part in ("debian", "systemd"):
        shutil.copytree(PROJECT / part, tree / part)
    run("dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps", "--no-pre-clean", cwd=tree,
        env=os.environ | {"BARNABAS_BUILD": str(barnabas_binary().parent), "SOURCE_DATE_EPOCH": "1796000000"})
    package, = home.glob("barnabas_*.deb")
    return package


def next_version(package, home):
    """The same with a higher version and another default in its settings file."""
    tree = home / "next"
    run("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: .*", "Version: 99.0", control.read_text(), flags=re.MULTILINE))
    with open(tree / SETTINGS.lstrip("/"), "a") as settings:
        settings.write("# of the next version\n")
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, home / "next.deb")
    return home / "next.deb"


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-test-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.package = build(cls.home)
        cls.next = next_version(cls.package, cls.home)

    def system(self):
        """A machine, as far as packages are concerned."""
        container = Container(root_file_system.debian(), command=["sleep", "infinity"], user="0:0", mounts={"/packages": self.home},
                              directory="/")
        container.start()
        self.addCleanup(container.__exit__)
        return container

    def install(self, system, package, *options):
        return system.inside("dpkg", *options, "--install", f"/packages/{package.name}")

    def serve(self, system):
        """What the unit starts, as its user."""
        unit = system.path("/lib/systemd/system/barnabas.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1].split()
        user = re.search(r"^User=(.*)$", unit, re.MULTILINE)[1]
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
        system.inside("sh", "-c", f"{' '.join(as_user + command)} >/tmp/log 2>&1 & echo $! >/tmp/pid")
        system.await_true(lambda: "Kafka Server started" in system.path("/tmp/log").read_text(), "broker",
                          lambda: system.path("/tmp/log").read_text())

    def stop(self, system):
        pid = system.path("/tmp/pid").read_text().strip()
        # Nobody waits for it there, so what is left of it has no program.
        system.inside("sh", "-c", f"kill {pid}; while [ -e /proc/{pid}/exe ]; do sleep 0.1; done")
        self.assertIn("stopped clean=true", system.path("/tmp/log").read_text())

    def test_lintian_finds_nothing(self):
        found = run("lintian", "--fail-on=error,warning", self.package)
        self.assertNotRegex(found, r"(?m)^[EW]:")

    def test_files(self):
        listed = run("dpkg-deb", "--contents", self.package)
        for path in ("/usr/bin/barnabas", SETTINGS, "/lib/systemd/system/barnabas.service", "/usr/share/man/man1/barnabas.1.gz",
                     "/usr/share/bash-completion/completions/barnabas", "/usr/share/zsh/vendor-completions/_barnabas",
                     "/usr/share/fish/vendor_completions.d/barnabas.fish", "/usr/share/doc/barnabas/copyright"):
            self.assertIn(f" .{path}\n", listed)
        control = run("dpkg-deb", "--field", self.package)
        for library in ("libssl3", "libre2-9", "libzstd1", "adduser"):
            self.assertRegex(control, rf"Depends: .*\b{library}\b")

    def test_installed_it_serves_upgraded_it_keeps_and_purged_it_is_gone(self):
        system = self.system()
        self.install(system, self.package)
        self.assertIn("barnabas", system.inside("id", "-un", "barnabas"))
        self.assertEqual(system.inside("stat", "-c", "%U:%G %a", DATA, SETTINGS).split("\n")[:2],
                         ["barnabas:barnabas 750", "root:barnabas 640"])
        self.assertTrue(system.path("/etc/systemd/system/multi-user.target.wants/barnabas.service").is_symlink(), "enabled")
        self.serve(system)
        system.run("kcat", "-b", ADDRESS, "-P", "-t", "kept", "-X", "acks=all", stdin="before\n")
        self.stop(system)

        self.assertNotIn("of the next version", system.path(SETTINGS).read_text())
        self.install(system, self.next)
        self.assertIn("of the next version", system.path(SETTINGS).read_text(), "nobody had changed it")
        self.assertEqual(system.inside("stat", "-c", "%U:%G %a", SETTINGS).strip(), "root:barnabas 640")
        self.serve(system)
        self.assertEqual(system.run("kcat", "-b", ADDRESS, "-C", "-q", "-e", "-t", "kept"), "before\n")
        self.stop(system)

        system.inside("dpkg", "--remove", "barnabas")
        self.assertFalse(system.path("/usr/bin/barnabas").exists())
        self.assertTrue(system.path(f"{DATA}/data/kept-0").is_dir(), "removed is not purged")
        self.assertTrue(system.path(SETTINGS).exists())
        system.inside("dpkg", "--purge", "barnabas")
        for path in (DATA, "/etc/barnabas"):
            self.assertFalse(system.path(path).exists(), path)
        self.assertIn("no such user", system.inside("id", "barnabas", check=False))

    def test_settings_that_an_operator_changed_outlive_an_upgrade(self):
        system = self.system()
        self.install(system, self.package)
        system.inside("sh", "-c", f"echo num.partitions=3 >>{SETTINGS}; chmod 600 {SETTINGS}; chown barnabas {SETTINGS}")
        self.install(system, self.next, "--force-confdef", "--force-confold")
        settings = system.path(SETTINGS).read_text()
        self.assertIn("num.partitions=3", settings)
        self.assertNotIn("of the next version", settings)
        self.assertEqual(system.inside("stat", "-c", "%U %a", SETTINGS).strip(), "barnabas 600")
        self.serve(system)

    def test_unit_is_one_that_systemd_takes(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze here")
        unit = self.home / "barnabas.service"
        # The program must be there, and here it is elsewhere.
        unit.write_text((PROJECT / "systemd" / unit.name).read_text().replace("/usr/bin/barnabas ", f"{barnabas_binary()} "))
        said = run("systemd-analyze", "verify", "--man=no", unit)
        self.assertNotIn(str(unit), said)
        run("systemd-analyze", "security", "--offline=yes", "--threshold=30", unit)


if __name__ == "__main__":
    root_file_system.require()
    suite.require_tools("dpkg-buildpackage", "dh", "lintian")
    unittest.main(verbosity=2)
