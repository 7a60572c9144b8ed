"""A codec for Kafka's messages that knows nothing but the schema files, and is strict when it reads.

Values are plain Python: `bytes`, `records` and `uuid` (16 bytes) are bytes, structs are `Message`s, arrays are lists.
A field left out takes its default when written; one that the version cannot carry is dropped, so that one call can be
made in every version. A name that no version knows is an error.
"""

import functools
import json
import os
import pathlib
import struct

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

NUMBERS = {
    "bool": ">?", "int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q",
    "float64": ">d",
}
ZERO_ID = bytes(16)


def facts_directory():
    """Where schemas/ and the golden vectors lie: the project's own, or BARNABAS_WIRE_FACTS."""
    configured = os.environ.get("BARNABAS_WIRE_FACTS")
    return pathlib.Path(configured) if configured else REPOSITORY / "protocol"


def vectors(name):
    with open(facts_directory() / "vectors" / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def config_facts():
    """Kafka's settings by scope (broker, topic, …), each with type, default and bounds."""
    configured = os.environ.get("BARNABAS_WIRE_FACTS")
    directory = pathlib.Path(configured) if configured else REPOSITORY / "metadata"
    with open(directory / "configs.json", encoding="utf-8") as file:
        return json.load(file)


class WireError(Exception):
    """The other side's bytes are not what the schema says."""


class Message(dict):
    """A decoded struct; fields are also attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@functools.cache
def in_range(spec, version):
    if spec in (None, "none"):
        return False
    for part in spec.split(","):
        low, dash, high = part.partition("-")
        if part.endswith("+"):
            if version >= int(part[:-1]):
                return True
        elif int(low) <= version <= int(high if dash else low):
            return True
    return False


@functools.cache
def schema(name):
    with open(facts_directory() / "schemas" / f"{name}.json", encoding="utf-8") as file:
        return json.load(file)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise WireError(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return bytes(self.data[self.at - count:self.at])

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def uvarint(self):
        result = shift = 0
        while True:
            byte = self.take(1)[0]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7

    def varint(self):
        raw = self.uvarint()
        return (raw >> 1) ^ -(raw & 1)

    def expect_end(self, what):
        if self.at != len(self.data):
            raise WireError(f"{len(self.data) - self.at} bytes left behind {what}")


def uvarint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def varint(number):
    return uvarint((number << 1) ^ (number >> 63) if number >= 0 else ((-number) << 1) - 1)


class Codec:
    """Reads and writes one message at one version."""

    def __init__(self, name, version):
        self.schema, self.version = schema(name), version
        self.flexible = in_range(self.schema["flexibleVersions"], version)
        self.structs = {struct["name"]: struct["fields"] for struct in self.schema.get("commonStructs", [])}

    def read(self, reader):
        return self._read_struct(reader, self.schema["fields"])

    def write(self, value):
        return self._write_struct(value, self.schema["fields"])

    def shape(self, field):
        """(element type, is array, struct fields or None, flexible, nullable) at this version."""
        kind = field["type"]
        array = kind.startswith("[]")
        kind = kind.removeprefix("[]")
        fields = field.get("fields") or (self.structs[kind] if kind[0].isupper() else None)
        flexible = in_range(field["flexibleVersions"], self.version) if "flexibleVersions" in field else self.flexible
        return kind, array, fields, flexible, in_range(field.get("nullableVersions"), self.version)

    def _is_tagged(self, field):
        return in_range(field.get("taggedVersions"), self.version)

    def default(self, field):
        kind, array, fields, _, _ = self.shape(field)
        if "default" in field:
            value = field["default"]
            return value.encode() if kind in ("bytes", "records") and value is not None else value
        if array:
            return []
        if fields:
            live = [inner for inner in fields if in_range(inner["versions"], self.version)]
            return Message({inner["name"]: self.default(inner) for inner in live})
        return {"bool": False, "string": "", "bytes": b"", "records": None, "uuid": ZERO_ID}.get(kind, 0)

    # Reading.

    def _read_struct(self, reader, fields):
        out = Message()
        live = [field for field in fields if in_range(field["versions"], self.version)]
        for field in live:
            out[field["name"]] = self.default(field) if self._is_tagged(field) else self._read_field(reader, field)
        if self.flexible:
            self._read_tags(reader, {field["tag"]: field for field in live if self._is_tagged(field)}, out)
        return out

    def _read_tags(self, reader, known, out):
        last = -1
        for _ in range(reader.uvarint()):
            tag = reader.uvarint()
            if tag <= last:
                raise WireError("tags out of order")
            last = tag
            body = Reader(reader.take(reader.uvarint()))
            if tag not in known:
                raise WireError(f"unknown tag {tag} in {self.schema['name']} v{self.version}")
            out[known[tag]["name"]] = self._read_field(body, known[tag])
            body.expect_end(known[tag]["name"])

    def _read_field(self, reader, field):
        kind, array, fields, flexible, nullable = self.shape(field)
        where = f"{self.schema['name']} v{self.version} {field['name']}"
        if array:
            count = reader.uvarint() - 1 if flexible else reader.number(">i")
            if count < 0:
                return self._null(count, nullable, where)
            return [
                self._read_struct(reader, fields) if fields else self._read_scalar(reader, kind, flexible, False, where)
                for _ in range(count)
            ]
        if fields:
            if nullable:
                marker = reader.number(">b")
                if marker not in ((0, 1) if self._is_tagged(field) else (-1, 1)):
                    raise WireError(f"{where}: marker {marker}")
                if marker < 1:
                    return None
            return self._read_struct(reader, fields)
        return self._read_scalar(reader, kind, flexible, nullable, where)

    @staticmethod
    def _null(count, nullable, where):
        if count != -1 or not nullable:
            raise WireError(f"{where}: length {count}")

    def _read_scalar(self, reader, kind, flexible, nullable, where):
        if kind == "bool":
            byte = reader.number(">B")
            if byte > 1:
                raise WireError(f"{where}: a bool of {byte}")
            return bool(byte)
        if kind in NUMBERS:
            return reader.number(NUMBERS[kind])
        if kind == "uuid":
            return reader.take(16)
        count = reader.uvarint() - 1 if flexible else reader.number(">h" if kind == "string" else ">i")
        if count < 0:
            return self._null(count, nullable, where)
        content = reader.take(count)
        return content.decode() if kind == "string" else content

    # Writing.

    def _write_struct(self, value, fields):
        unknown = set(value) - {field["name"] for field in fields} - {"_tags"}
        if unknown:
            raise KeyError(f"{self.schema['name']} has no {', '.join(sorted(unknown))}")
        out, tagged = bytearray(), []
        for field in fields:
            if not in_range(field["versions"], self.version):
                continue
            if not self._is_tagged(field):
                out += self._write_field(value.get(field["name"], self.default(field)), field)
            elif field["name"] in value:
                tagged.append((field["tag"], self._write_field(value[field["name"]], field)))
        if self.flexible:
            tagged += value.get("_tags", [])
            out += uvarint(len(tagged))
            for tag, body in sorted(tagged):
                out += uvarint(tag) + uvarint(len(body)) + body
        return bytes(out)

    def _write_field(self, value, field):
        kind, array, fields, flexible, nullable = self.shape(field)
        if array:
            if value is None:
                return b"\0" if flexible else struct.pack(">i", -1)
            head = uvarint(len(value) + 1) if flexible else struct.pack(">i", len(value))
            return head + b"".join(
                self._write_struct(element, fields) if fields else self._write_scalar(element, kind, flexible)
                for element in value)
        if fields:
            if value is None:
                return b"\0" if self._is_tagged(field) else b"\xff"
            return (b"\1" if nullable else b"") + self._write_struct(value, fields)
        return self._write_scalar(value, kind, flexible)

    def _write_scalar(self, value, kind, flexible):
        if kind in NUMBERS:
            return struct.pack(NUMBERS[kind], value)
        if kind == "uuid":
            return value
        if value is None:
            return b"\0" if flexible else struct.pack(">h" if kind == "string" else ">i", -1)
        content = value.encode() if kind == "string" else bytes(value)
        size = uvarint(len(content) + 1) if flexible else struct.pack(">h" if kind == "string" else ">i", len(content))
        return size + content


@functools.cache
def codec(name, version):
    return Codec(name, version)


def is_flexible(api, version):
    return codec(f"{api}Request", version).flexible


def request_frame(api, version, fields, correlation_id=1, client_id="conformance", header_tags=()):
    """A whole request frame, size included."""
    body = codec(f"{api}Request", version).write(fields)
    header = header_of(schema(f"{api}Request")["apiKey"], version, correlation_id, client_id)
    if is_flexible(api, version):
        header += uvarint(len(header_tags)) + b"".join(uvarint(t) + uvarint(len(b)) + b for t, b in header_tags)
    return sized(header + body)


def header_of(api_key, version, correlation_id, client_id):
    head = struct.pack(">hhi", api_key, version, correlation_id)
    if client_id is None:
        return head + b"\xff\xff"
    name = client_id.encode()
    return head + struct.pack(">h", len(name)) + name


def sized(payload):
    return struct.pack(">i", len(payload)) + payload


def read_response(api, version, payload, correlation_id):
    """Decodes a response (without its size) to the last byte; header and body as this request version wants them."""
    reader = Reader(payload)
    got = reader.number(">i")
    if got != correlation_id:
        raise WireError(f"correlation id {got}, expected {correlation_id}")
    if api != "ApiVersions" and is_flexible(api, version) and reader.uvarint() != 0:
        raise WireError("tags in the response header")
    body = codec(f"{api}Response", version).read(reader)
    reader.expect_end(f"{api} v{version} response")
    return body
