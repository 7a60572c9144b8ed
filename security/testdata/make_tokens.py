#!/usr/bin/env python3
"""Writes tokens.json, beside this: a key set, tokens that are to be accepted with it, and tokens that are to be refused, each
with a word of the reason. Made with Python's cryptography (pip install cryptography); the private keys are thrown away."""

import base64
import json
import pathlib

from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

NOW = 1_800_000_000  # when the tokens are looked at, in seconds
HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
CURVES = {"256": (ec.SECP256R1(), "P-256", 32), "384": (ec.SECP384R1(), "P-384", 48), "512": (ec.SECP521R1(), "P-521", 66)}
CLAIMS = {"sub": "alice", "iss": "https://issuer.example", "aud": "kafka", "iat": NOW - 60, "exp": NOW + 600}


def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else data.encode()).rstrip(b"=").decode()


def number(value, size=None):
    return b64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def public(key, kid, **more):
    if isinstance(key, rsa.RSAPrivateKey):
        numbers = key.public_key().public_numbers()
        return {"kty": "RSA", "kid": kid, "n": number(numbers.n), "e": number(numbers.e), **more}
    name, size = next((name, size) for curve, name, size in CURVES.values() if curve.name == key.curve.name)
    numbers = key.public_key().public_numbers()
    return {"kty": "EC", "kid": kid, "crv": name, "x": number(numbers.x, size), "y": number(numbers.y, size), **more}


def signature(algorithm, key, text):
    digest = HASHES[algorithm[2:]]
    if algorithm.startswith("RS"):
        return key.sign(text, padding.PKCS1v15(), digest)
    if algorithm.startswith("PS"):
        return key.sign(text, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
    size = CURVES[algorithm[2:]][2]
    r, s = utils.decode_dss_signature(key.sign(text, ec.ECDSA(digest)))
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def compact(header, claims, sign):
    """`header` and `claims` are objects or, for what json would not write, text."""
    as_text = [part if isinstance(part, str) else json.dumps(part) for part in (header, claims)]
    text = ".".join(map(b64, as_text))
    return text + "." + b64(sign(text.encode()))


class Maker:
    def __init__(self):
        self.rsa = rsa.generate_private_key(65537, 2048)
        self.small = rsa.generate_private_key(65537, 1024)
        self.strange = rsa.generate_private_key(65537, 2048)
        self.ec = {bits: ec.generate_private_key(curve) for bits, (curve, _, _) in CURVES.items()}
        self.secret = b"a secret of thirty-two bytes, no"
        self.keys = [
            public(self.rsa, "rsa", use="sig"),
            public(self.small, "small"),
            public(self.strange, "for-encryption", use="enc"),
            public(self.strange, "only-ps512", alg="PS512"),
            public(self.strange, "for-signing", key_ops=["sign"]),
            {"kty": "oct", "kid": "secret", "k": b64(self.secret)},
            {"kty": "OKP", "kid": "okp", "crv": "Ed25519", "x": b64(b"x" * 32)},
            {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
            {**public(self.ec["256"], "off-curve"), "x": number(5, 32)},
        ] + [public(key, "ec" + bits) for bits, key in self.ec.items()]

    def token(self, claims=CLAIMS, algorithm="RS256", kid="rsa", key=None, **header):
        key = key or (self.ec[algorithm[2:]] if algorithm.startswith("ES") else self.rsa)
        fields = {"alg": algorithm, "typ": "JWT", **({"kid": kid} if kid else {}), **header}
        return compact(fields, claims, lambda text: signature(algorithm, key, text))

    def by_header(self, header, claims=CLAIMS, algorithm="RS256"):
        return compact(header, claims, lambda text: signature(algorithm, self.rsa, text))

    def mac(self, secret, kid, algorithm="HS256"):
        def sign(text):
            maker = hmac.HMAC(secret, HASHES[algorithm[2:]])
            maker.update(text)
            return maker.finalize()
        return compact({"alg": algorithm, "kid": kid}, CLAIMS, sign)

    def accepted(self):
        yield from ((a, self.token(algorithm=a)) for a in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
        yield from ((f"ES{bits}", self.token(algorithm=f"ES{bits}", kid=f"ec{bits}")) for bits in CURVES)
        yield "no key id", self.token(kid=None)
        yield "no key id, elliptic", self.token(algorithm="ES384", kid=None)
        yield "alg of the key", self.token(algorithm="PS512", kid="only-ps512", key=self.strange)
        yield "expired within the skew", self.token({**CLAIMS, "exp": NOW - 29})
        yield "not yet valid within the skew", self.token({**CLAIMS, "nbf": NOW + 30})
        yield "list of audiences", self.token({**CLAIMS, "aud": ["others", "kafka"]})
        yield "blanks around the name", self.token({**CLAIMS, "sub": " \talice\n"})
        yield "fraction of a second", self.token({**CLAIMS, "exp": NOW + 600.75})
        yield "scope text", self.token({**CLAIMS, "scope": "a b"})
        yield "scope list", self.token({**CLAIMS, "scope": ["a", "b"]})
        yield "scope of another type", self.token({**CLAIMS, "scope": 5})
        yield "other headers", self.token(jku="https://evil.example/keys", jwk=public(self.small, "x"), x5u="y")

    def refused(self):
        good = self.token()
        header, claims, mark = good.split(".")
        yield "none", "algorithm", compact({"alg": "none"}, CLAIMS, lambda text: b"")
        yield "none with a signature", "algorithm", compact({"alg": "none"}, CLAIMS, lambda text: b"x")
        yield "None", "algorithm", compact({"alg": "None"}, CLAIMS, lambda text: b"x")
        yield "no alg", "algorithm", self.by_header({"kid": "rsa"})
        yield "alg is a number", "text", self.by_header({"alg": 5})
        yield "alg in lower case", "algorithm", self.by_header({"alg": "rs256"})
        yield "secret of the set", "algorithm", self.mac(self.secret, "secret")
        pem = self.rsa.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        yield "public key as a secret", "algorithm", self.mac(pem, "rsa")
        yield "other key", "wrong signature", self.token(key=self.strange)
        yield "small key", "no key", self.token(key=self.small, kid="small")
        yield "key for encryption", "no key", self.token(key=self.strange, kid="for-encryption")
        yield "key for signing", "no key", self.token(key=self.strange, kid="for-signing")
        yield "key for another alg", "no key", self.token(key=self.strange, kid="only-ps512")
        yield "key off the curve", "no key", self.token(algorithm="ES256", kid="off-curve")
        yield "unknown key", "no key", self.token(kid="nobody")
        yield "key of another type", "no key", self.token(kid="ec256")
        yield "key on another curve", "no key", self.token(algorithm="ES256", kid="ec384")
        yield "key id is a number", "text", self.by_header({"alg": "RS256", "kid": 7})
        yield "key id is long", "key id", self.token(kid="k" * 1001)
        yield "critical extension", "crit", self.token(crit=["exp"])
        yield "payload not encoded", "crit", self.token(b64=False)
        yield "token within a token", "within", self.token(cty="jwt")
        yield "signed by PSS, said PKCS1", "wrong signature", self.by_header(
            {"alg": "RS256", "kid": "rsa"}, algorithm="PS256")
        yield "another digest", "wrong signature", self.by_header({"alg": "RS512", "kid": "rsa"}, algorithm="RS256")
        yield "another header", "wrong signature", ".".join((b64(json.dumps({"alg": "RS256", "kid": "rsa"})), claims, mark))
        yield "other claims", "wrong signature", ".".join((header, b64(json.dumps({**CLAIMS, "sub": "root"})), mark))
        yield "signature cut", "no signature", good[:-4]
        yield "signature longer", "wrong signature", good + "AAAA"
        yield "signature padded", "signature", good + "="
        yield "no signature", "no signature", f"{header}.{claims}."
        for bits, (_, _, size) in CURVES.items():
            with_key = {"alg": f"ES{bits}", "kid": f"ec{bits}"}
            key = self.ec[bits]
            yield f"zeros for ES{bits}", "wrong signature", compact(with_key, CLAIMS, lambda text, n=size: bytes(2 * n))
            yield f"DER for ES{bits}", "wrong signature", compact(
                with_key, CLAIMS, lambda text, k=key, b=bits: k.sign(text, ec.ECDSA(HASHES[b])))
        yield "two parts", "expected header", f"{header}.{claims}"
        yield "four parts", "expected header", good + ".x"
        yield "five parts", "expected header", good + ".x.y"
        yield "nothing", "expected header", ""
        yield "dots", "header", ".."
        yield "blank in front", "header", " " + good
        yield "line end behind", "signature", good + "\n"
        yield "header is a list", "object", self.by_header("[]")
        yield "header is no JSON", "no JSON", self.by_header("{")
        yield "header with two", "no JSON", self.by_header("{}{}")
        yield "alg twice", "twice", self.by_header('{"alg":"RS256","alg":"none"}')
        yield "header nested deep", "deep", self.by_header('{"a":' + "[" * 20 + "]" * 20 + "}")
        yield "header too large", "longer", self.by_header({"alg": "RS256", "x": "y" * 17_000})
        yield "claims twice", "twice", self.token('{"sub":"alice","sub":"root"}')
        yield "claims nested deep", "deep", self.token('{"a":' + "[" * 1_000 + "]" * 1_000 + "}")
        yield "many claims", "many", self.token('{"a":[' + ",".join(["0"] * 10_001) + "]}")
        yield "claims are no UTF-8", "no JSON", self.raw_claims(b'{"sub":"\xff"}')
        yield "claims are a list", "object", self.token("[]")
        yield "expired", "expired", self.token({**CLAIMS, "exp": NOW - 30})
        yield "no exp", "no exp", self.token({k: v for k, v in CLAIMS.items() if k != "exp"})
        yield "exp is text", "exp", self.token({**CLAIMS, "exp": str(NOW + 600)})
        yield "exp is null", "exp", self.token({**CLAIMS, "exp": None})
        yield "exp is negative", "exp", self.token({**CLAIMS, "exp": -1})
        yield "exp is huge", "exp", self.token({**CLAIMS, "exp": 1e300})
        yield "exp overflows", "exp", self.token({**CLAIMS, "exp": 2**63})
        yield "exp is infinite", "claims", self.token('{"exp":1e999}')
        yield "no iat", "no iat", self.token({k: v for k, v in CLAIMS.items() if k != "iat"})
        yield "issued after it expires", "before it was issued", self.token({**CLAIMS, "iat": NOW + 601})
        yield "not yet valid", "not valid", self.token({**CLAIMS, "nbf": NOW + 31})
        yield "valid after it expires", "before it is valid", self.token({**CLAIMS, "nbf": NOW + 601})
        yield "other issuer", "issuer", self.token({**CLAIMS, "iss": "https://issuer.example/"})
        yield "no issuer", "issuer", self.token({k: v for k, v in CLAIMS.items() if k != "iss"})
        yield "issuer is a list", "iss", self.token({**CLAIMS, "iss": ["https://issuer.example"]})
        yield "other audience", "audience", self.token({**CLAIMS, "aud": "kafka2"})
        yield "no audience", "audience", self.token({k: v for k, v in CLAIMS.items() if k != "aud"})
        yield "empty audience", "audience", self.token({**CLAIMS, "aud": []})
        yield "audience is a number", "audience", self.token({**CLAIMS, "aud": ["kafka", 1]})
        yield "no name", "no name", self.token({k: v for k, v in CLAIMS.items() if k != "sub"})
        yield "name is blank", "no name", self.token({**CLAIMS, "sub": " \n"})
        yield "name is a list", "sub", self.token({**CLAIMS, "sub": ["alice"]})
        yield "name is long", "name", self.token({**CLAIMS, "sub": "a" * 5000})
        yield "scope is empty", "scope", self.token({**CLAIMS, "scope": ""})
        yield "scope twice", "scope", self.token({**CLAIMS, "scope": ["a", " a"]})
        yield "scope is no text", "scope", self.token({**CLAIMS, "scope": ["a", 1]})

    def raw_claims(self, claims):
        text = b64(json.dumps({"alg": "RS256", "kid": "rsa"})) + "." + b64(claims)
        return text + "." + b64(signature("RS256", self.rsa, text.encode()))


def main():
    maker = Maker()
    data = {
        "now": NOW,
        "keys": json.dumps({"keys": maker.keys}),
        "accepted": [{"name": name, "token": token} for name, token in maker.accepted()],
        "refused": [{"name": name, "why": why, "token": token} for name, why, token in maker.refused()],
    }
    path = pathlib.Path(__file__).with_name("tokens.json")
    path.write_text(json.dumps(data, indent=1) + "\n")


main()
