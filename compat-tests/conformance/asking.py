"""Requests that are written down before there is a broker, and then asked of one."""

from client import Connection, ConnectionClosed

ID_OF = "id-of:"  # in front of a topic's name: the id that it has there


class Asker:
    """For a broker with `address`, `ids` of topics by name, and `neutral(value, name)`, which takes out of an answer what
    is no difference."""

    def ask(self, api, version, fields, source=None, timeout=10):
        connection = Connection(self.address, timeout=timeout, source=source)
        try:
            return self.neutral(connection.call(api, version, **self.concrete(fields)), "")
        except ConnectionClosed:
            return "closed"
        except TimeoutError:
            return "silent"
        finally:
            connection.close()

    def concrete(self, value):
        if isinstance(value, dict):
            return {key: self.concrete(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.concrete(inner) for inner in value]
        if isinstance(value, str) and value.startswith(ID_OF):
            return self.ids[value.removeprefix(ID_OF)]
        return value
