"""The ways into a secured broker: what a client's program is asked to do, and what must become of it.

A program is started with the path of a JSON file, a list of ways:

    name, bootstrap, protocol, topic, values       always: it sends the values to partition 0 of the topic, which is made
                                                   by that, and reads them back
    ca                                             of SSL and SASL_SSL: the authority's certificate (PEM)
    certificate, key                               the client's own (PEM)
    mechanism, username, password                  of SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    mechanism, token, token_file                   OAUTHBEARER: the JSON Web Token, and a file that holds it

and for each prints a line of JSON: way (the name), outcome, detail. Outcomes: `values` (detail: those read back),
`refused` (it was not let in), `denied` (it was, but may not do this), `error` (something else).
"""

import json
import subprocess

from json_web_tokens import Issuer, key_set

PASSWORDS = {"alice": "alice-secret", "bob": "bob \"quoted\", secret", "mallory": "mallory-secret"}
# Mallory has a password and no rights.
SUPER_USERS = ("User:ANONYMOUS", "User:alice", "User:bob", "User:CN=carol,OU=people,O=example")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
JAAS = "org.apache.kafka.common.security"
VALUES = ("one", "two", "three")
LISTENERS = {"SSL": "SSL", "MUTUAL": "SSL", "SASL_PLAINTEXT": "SASL_PLAINTEXT", "SASL_SSL": "SASL_SSL"}
PROGRAM_TIMEOUT_S = 150


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def plain_jaas():
    users = " ".join(f"user_{name}={quoted(password)}" for name, password in PASSWORDS.items())
    # A properties file has backslashes of its own.
    return f"{JAAS}.plain.PlainLoginModule required {users};".replace("\\", "\\\\")


class Secrets:
    """All that broker and clients need, in `directory`."""

    def __init__(self, directory, authority, stranger):
        self.directory = directory
        self.authority = authority
        self.stranger = stranger  # an authority that nobody trusts
        self.server = authority.server()
        self.client = authority.client("client", "CN=carol,OU=people,O=example")
        self.foreign_client = stranger.client("foreign-client", "CN=carol,OU=people,O=example")
        self.issuer = Issuer(directory)
        self.forger = Issuer(directory, "second")
        self.jwks = directory / "jwks.json"
        self.jwks.write_text(key_set(self.issuer))

    def properties(self):
        """Of a broker that has all of LISTENERS."""
        properties = {
            "ssl.keystore.type": "PEM", "ssl.keystore.location": self.server.pem,
            "ssl.truststore.type": "PEM", "ssl.truststore.location": self.authority.certificate,
            "listener.name.mutual.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": ";".join(SUPER_USERS),
        }
        for listener in ("sasl_plaintext", "sasl_ssl"):
            prefix = f"listener.name.{listener}"
            scram = f"{JAAS}.scram.ScramLoginModule required;"
            properties |= {
                f"{prefix}.plain.sasl.jaas.config": plain_jaas(),
                f"{prefix}.scram-sha-256.sasl.jaas.config": scram,
                f"{prefix}.scram-sha-512.sasl.jaas.config": scram,
                f"{prefix}.oauthbearer.sasl.jaas.config":
                    f"{JAAS}.oauthbearer.OAuthBearerLoginModule required;",
                f"{prefix}.oauthbearer.sasl.server.callback.handler.class":
                    f"{JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler",
                f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": self.jwks.as_uri(),
                f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": self.issuer.audience,
                f"{prefix}.oauthbearer.sasl.oauthbearer.expected.issuer": self.issuer.issuer,
            }
        return properties

    def format_arguments(self):
        """The users of SCRAM, as Kafka's storage tool and `barnabas format` take them."""
        return [argument for mechanism in MECHANISMS if mechanism.startswith("SCRAM")
                for argument in ("--add-scram", f"{mechanism}=[name=alice,password={PASSWORDS['alice']}]")]

    def jvm_arguments(self):
        return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.jwks.as_uri()}"]

    def token_way(self, name, token):
        file = self.directory / f"{name}.jwt"
        file.write_text(token)
        return {"mechanism": "OAUTHBEARER", "token": token, "token_file": str(file)}


def user(mechanism, name="alice", password=None):
    return {"mechanism": mechanism, "username": name, "password": password or PASSWORDS.get(name, "none")}


def all_ways(secrets):
    """(name, listener, what is asked for, the outcome)."""
    ca = {"ca": str(secrets.authority.certificate)}
    wrong_ca = {"ca": str(secrets.stranger.certificate)}

    def certificate(identity):
        return {"certificate": str(identity.chain), "key": str(identity.key)}

    yield "ssl", "SSL", ca, "values"
    yield "ssl-unknown-authority", "SSL", wrong_ca, "refused"
    yield "mutual", "MUTUAL", ca | certificate(secrets.client), "values"
    yield "mutual-without-certificate", "MUTUAL", ca, "refused"
    yield "mutual-unknown-authority", "MUTUAL", ca | certificate(secrets.foreign_client), "refused"
    for listener in ("SASL_PLAINTEXT", "SASL_SSL"):
        base = ca if listener == "SASL_SSL" else {}
        prefix = listener.lower().replace("_", "-")
        for mechanism in MECHANISMS[:3]:
            yield f"{prefix}-{mechanism.lower()}", listener, base | user(mechanism), "values"
        token = secrets.token_way(f"{prefix}-token", secrets.issuer.token("alice"))
        yield f"{prefix}-oauthbearer", listener, base | token, "values"
    yield "sasl-ssl-unknown-authority", "SASL_SSL", wrong_ca | user("PLAIN"), "refused"
    yield "no-rights", "SASL_PLAINTEXT", user("PLAIN", "mallory"), "denied"
    yield "quoted-password", "SASL_PLAINTEXT", user("PLAIN", "bob"), "values"
    for mechanism in MECHANISMS[:3]:
        yield f"wrong-password-{mechanism.lower()}", "SASL_PLAINTEXT", user(mechanism, password="wrong"), "refused"
    yield "unknown-user", "SASL_PLAINTEXT", user("SCRAM-SHA-256", "nobody"), "refused"
    forged = secrets.token_way("forged", secrets.forger.token("alice", header={"kid": secrets.issuer.kid}))
    yield "forged-token", "SASL_PLAINTEXT", forged, "refused"


def asked(broker, name, listener, asked_for):
    return {"name": name, "bootstrap": broker.address(listener), "protocol": LISTENERS[listener],
            "topic": f"secured-{name}", "values": list(VALUES)} | asked_for


def go_all(command, ways, path):
    """Has a program go these ways; returns way → (outcome, detail)."""
    path.write_text(json.dumps(ways))
    done = subprocess.run([*map(str, command), str(path)], stdout=subprocess.PIPE, text=True,
                          timeout=PROGRAM_TIMEOUT_S)
    if done.returncode != 0:
        raise RuntimeError(f"the program ended with {done.returncode}")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["way"]: (one["outcome"], one["detail"]) for one in told}
