"""A Kerberos KDC of MIT's in a temporary directory, on a free port of 127.0.0.1, that needs no rights and touches nothing else.

    with Kdc() as kdc:
        kdc.add("alice", "secret")
        table = kdc.key_table("kafka/localhost")       # a principal with a random key, and the file that has it
        kdc.log_in("alice", "secret", cache)           # a ticket in the file `cache`, as kinit gets it
        run(client, env=os.environ | kdc.environment)
"""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import suite
from broker import HOST, free_ports

REALM = "TEST.EXAMPLE"
PATHS = "/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_START_TIMEOUT_S = 20

_SETTINGS = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  default_ccache_name = FILE:{home}/cache
[realms]
  {realm} = {{
    kdc = {host}:{port}
  }}
[domain_realm]
  localhost = {realm}
"""

_KDC_SETTINGS = """\
[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = {host}:{port}
[realms]
  {realm} = {{
    database_name = {home}/principal
    key_stash_file = {home}/stash
    acl_file = {home}/acl
    max_life = 1h
    supported_enctypes = aes256-cts-hmac-sha1-96:normal
  }}
[logging]
  kdc = FILE:{home}/kdc.log
"""


class Kdc:
    def __init__(self):
        missing = [name for name in PROGRAMS if shutil.which(name, path=PATHS) is None]
        if missing:
            suite.skip(f"no {', '.join(missing)} here (Debian: krb5-kdc, krb5-admin-server, krb5-user)")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-kdc-"))
        (self._port,) = free_ports(1)
        self.settings = self.home / "krb5.conf"
        self.environment = {
            "KRB5_CONFIG": str(self.settings), "KRB5_KDC_PROFILE": str(self.home / "kdc.conf"),
            "KRB5RCACHENAME": f"file2:{self.home}/replay",
        }
        self._process = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.clean()
            raise
        return self

    def __exit__(self, *_):
        self.clean()

    def _start(self):
        values = {"realm": REALM, "home": self.home, "host": HOST, "port": self._port}
        self.settings.write_text(_SETTINGS.format(**values))
        (self.home / "kdc.conf").write_text(_KDC_SETTINGS.format(**values))
        (self.home / "acl").write_text("")
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        with open(self.home / "kdc.out", "wb") as log:
            self._process = subprocess.Popen(
                [self._program("krb5kdc"), "-n", "-r", REALM], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | self.environment, start_new_session=True)
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                socket.create_connection((HOST, self._port), timeout=1).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the KDC does not listen: " + (self.home / "kdc.out").read_text()) from None
                time.sleep(0.01)

    def add(self, name, password):
        self._run("kadmin.local", "-r", REALM, "-q", f"add_principal -pw {password} {name}")

    def key_table(self, name, file=None):
        """Of a principal with a new random key; also adds it to a file that is there."""
        path = self.home / (file or name.replace("/", "-") + ".keytab")
        self._run("kadmin.local", "-r", REALM, "-q", f"add_principal -randkey {name}")
        self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {name}")
        return path

    def log_in(self, name, password, cache):
        self._run("kinit", "-c", f"FILE:{cache}", f"{name}@{REALM}", text=password + "\n")
        return {"KRB5CCNAME": f"FILE:{cache}"}

    def clean(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def _program(self, name):
        return shutil.which(name, path=PATHS)

    def _run(self, name, *arguments, text=""):
        done = subprocess.run([self._program(name), *map(str, arguments)], input=text, capture_output=True, text=True,
                              env=os.environ | self.environment)
        # kadmin.local ends with 0 whatever happened, and says what did not.
        if done.returncode != 0 or "while " in done.stderr:
            raise RuntimeError(f"{name} {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout
