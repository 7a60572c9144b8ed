"""JSON Web Tokens and the key set that they are checked against, made with the openssl command."""

import base64
import json
import time

from certificates import openssl

EXPONENT = 65537


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """An RSA key of its own, as `kid`."""

    def __init__(self, directory, kid="first", issuer="https://issuer.example", audience="kafka"):
        self.kid = kid
        self.issuer = issuer
        self.audience = audience
        self._key = directory / f"{kid}.key"
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self._key)

    def public_key(self):
        modulus = openssl("rsa", "-in", self._key, "-noout", "-modulus").decode().strip().removeprefix("Modulus=")
        return {"kty": "RSA", "kid": self.kid, "use": "sig", "alg": "RS256", "n": encoded(bytes.fromhex(modulus)),
                "e": encoded(EXPONENT.to_bytes(3, "big"))}

    def token(self, subject, lives_s=600, header=None, **claims):
        """`header` and `claims` replace what would be there; a claim that is None is left out."""
        now = int(time.time())
        head = {"alg": "RS256", "kid": self.kid, "typ": "JWT"} | (header or {})
        body = {"sub": subject, "iss": self.issuer, "aud": self.audience, "iat": now, "exp": now + lives_s,
                "scope": "kafka"} | claims
        body = {name: value for name, value in body.items() if value is not None}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (head, body))
        signature = openssl("dgst", "-sha256", "-sign", self._key, stdin=signed.encode())
        return f"{signed}.{encoded(signature)}"


def key_set(*issuers):
    return json.dumps({"keys": [issuer.public_key() for issuer in issuers]})
