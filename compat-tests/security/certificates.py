#!/usr/bin/env python3
"""Throw-away certificate authorities and certificates, made with the openssl command.

    authority = Authority(directory)
    server = authority.server()                        # for localhost and 127.0.0.1
    alice = authority.client("alice", "CN=alice,OU=people,O=example")
    authority.certificate                              # PEM: what clients trust
    server.pem                                         # PEM: key and chain, for ssl.keystore.location
    server.pkcs12("secret")                            # the same as PKCS12
    authority.truststore("secret")                     # PKCS12 without a key
    authority.server("old", days=-1)                   # expired
    authority.server("other", hosts=["other.example"]) # for another host

`certificates.py DIR` makes one of each there.
"""

import pathlib
import re
import subprocess
import sys

LOCAL = ("localhost", "127.0.0.1")


def openssl(*arguments, stdin=None):
    done = subprocess.run(["openssl", *map(str, arguments)], input=stdin, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {' '.join(map(str, arguments))}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def new_key(path, kind):
    """`kind`: "ec" (P-256) or a number of bits for RSA."""
    if kind == "ec":
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    else:
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{kind}", "-out", path)
    path.chmod(0o600)


def subject_argument(name):
    """"CN=a,OU=b", the last attribute first as in RFC 2253, as `openssl req -subj` takes it. No escapes."""
    return "".join("/" + attribute for attribute in reversed(name.split(",")))


class Identity:
    """A key and its certificate. All are paths of PEM files."""

    def __init__(self, directory, name, chain):
        self.directory = directory
        self.name = name
        self.key = directory / f"{name}.key"
        self.certificate = directory / f"{name}.crt"
        self.chain = directory / f"{name}.chain.pem"  # the certificate, then its issuers
        self.pem = directory / f"{name}.pem"  # key and chain
        self._issuers = chain

    def gather(self):
        chain = "".join(path.read_text() for path in [self.certificate, *self._issuers])
        self.chain.write_text(chain)
        self.pem.write_text(self.key.read_text() + chain)
        self.pem.chmod(0o600)

    def pkcs12(self, password, name=None):
        path = self.directory / f"{name or self.name}.p12"
        openssl("pkcs12", "-export", "-name", self.name, "-inkey", self.key, "-in", self.chain,
                "-passout", "stdin", "-out", path, stdin=password.encode() + b"\n")
        return path

    def encrypted_key(self, password):
        """PKCS8 under a password."""
        path = self.directory / f"{self.name}.encrypted.key"
        openssl("pkcs8", "-topk8", "-in", self.key, "-v2", "aes-256-cbc", "-passout", "stdin", "-out", path,
                stdin=password.encode() + b"\n")
        return path


class Authority:
    """A certificate authority with its files in `directory`. `key` as in new_key; certificates get the same kind."""

    def __init__(self, directory, name="ca", key="ec"):
        self.directory = pathlib.Path(directory)
        self.name = name
        self.kind = key
        self.key = self.directory / f"{name}.key"
        self.certificate = self.directory / f"{name}.crt"
        new_key(self.key, key)
        openssl("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN=Barnabas test {name}", "-days", 30,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-out", self.certificate)

    def issue(self, name, subject, extensions, days=30, key=None):
        identity = Identity(self.directory, name, [self.certificate])
        new_key(identity.key, key or self.kind)
        request = openssl("req", "-new", "-key", identity.key, "-subj", subject_argument(subject), "-utf8",
                          "-batch")
        extension_file = self.directory / f"{name}.extensions"
        extension_file.write_text("basicConstraints=CA:FALSE\n" + "".join(line + "\n" for line in extensions))
        openssl("x509", "-req", "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", days,
                "-extfile", extension_file, "-out", identity.certificate, stdin=request)
        extension_file.unlink()
        identity.gather()
        return identity

    def server(self, name="server", hosts=LOCAL, subject=None, days=30, key=None):
        names = ",".join(("IP:" if re.fullmatch(r"[0-9.]+|.*:.*", host) else "DNS:") + host for host in hosts)
        return self.issue(name, subject or f"CN={hosts[0]}",
                          ["extendedKeyUsage=serverAuth", f"subjectAltName={names}"], days, key)

    def client(self, name, subject=None, days=30, key=None):
        return self.issue(name, subject or f"CN={name}", ["extendedKeyUsage=clientAuth"], days, key)

    def truststore(self, password):
        """PKCS12 with the authority's certificate alone. Java does not take it for trusted; give it `certificate`
        with ssl.truststore.type=PEM."""
        path = self.directory / f"{self.name}.p12"
        openssl("pkcs12", "-export", "-nokeys", "-in", self.certificate, "-caname", self.name,
                "-passout", "stdin", "-out", path, stdin=password.encode() + b"\n")
        return path


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    authority = Authority(directory)
    authority.server().pkcs12("secret")
    authority.server("expired", days=-1)
    authority.server("other-host", hosts=["other.example"])
    authority.client("client", "CN=client,OU=test,O=Barnabas").pkcs12("secret")


if __name__ == "__main__":
    main()
