"""Reads schemas/*.json into messages, structs and fields."""

import json
import pathlib
from dataclasses import dataclass, field as data_field

from names import member_name, snake_case
from versions import NONE, Range

INTEGERS = {
    "int8": "int8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
}
SCALARS = {
    **INTEGERS,
    "bool": "bool",
    "float64": "double",
    "uuid": "Uuid",
    "string": "String",
    "bytes": "Bytes",
    "records": "Records",
}
# Names that the generated functions use themselves.
RESERVED_MEMBERS = {
    "reader",
    "writer",
    "printer",
    "wire_version",
    "flexible",
    "wire_tag",
    "wire_tags",
    "read",
    "write",
    "print",
    "unknown_tags",
}
RESERVED_IN_ROOT = {
    "encode",
    "decode",
    "message_name",
    "min_version",
    "max_version",
    "first_flexible_version",
    "api_key",
    "record_type",
}


@dataclass
class Field:
    json_name: str
    member: str
    scalar: str  # the scalar type, or None for a struct
    struct: object  # the Struct, or None for a scalar
    is_array: bool
    versions: Range
    nullable: Range
    tagged: Range
    tag: int
    default: object  # None for null; absent in the schema: the type's own zero, as `ZERO`
    ignorable: bool
    flexible_override: object  # a Range when the field does not follow its message

    def is_nullable(self):
        return bool(self.nullable)


ZERO = object()


@dataclass
class Struct:
    name: str
    fields: list = data_field(default_factory=list)
    scope: Range = NONE  # the versions of the message in which it occurs

    def tagged_fields(self):
        return sorted((f for f in self.fields if f.tagged & self.scope), key=lambda f: f.tag)


@dataclass
class Message:
    name: str
    file_name: str
    kind: str
    versions: Range
    flexible: Range
    api_key: int
    log: str
    record_type: int
    root: Struct
    structs: list  # nested ones, inner ones first

    def weight(self):
        return sum(len(s.fields) + 2 for s in self.structs) + len(self.root.fields) + 6


class MessageLoader:
    def __init__(self, source):
        self.source = source
        self.common = {c["name"]: c["fields"] for c in source.get("commonStructs", [])}
        self.structs = {}
        self.order = []
        self.versions = Range.parse(source["validVersions"])

    def load(self):
        source = self.source
        root = Struct(source["name"], scope=self.versions)
        root.fields = [self.field(f, root.scope) for f in source["fields"]]
        flexible = Range.parse(source["flexibleVersions"])
        return Message(
            source["name"],
            snake_case(source["name"]),
            source["kind"],
            self.versions,
            flexible,
            source.get("apiKey"),
            source.get("log"),
            source.get("recordType"),
            root,
            self.order,
        )

    def struct(self, name, fields, scope):
        """The struct of that name; what uses it widens its scope."""
        known = self.structs.get(name)
        if known is None:
            known = self.structs[name] = Struct(name)
        elif known.scope.hull(scope) == known.scope:
            return known
        known.scope = known.scope.hull(scope)
        known.fields = [self.field(f, known.scope) for f in fields]
        if known not in self.order:
            self.order.append(known)
        return known

    def field(self, source, scope):
        kind = source["type"]
        is_array = kind.startswith("[]")
        kind = kind[2:] if is_array else kind
        versions = Range.parse(source["versions"]) & self.versions
        struct = None
        if kind not in SCALARS:
            struct = self.struct(kind, source.get("fields") or self.common[kind], versions & scope)
        member = member_name(source["name"])
        if member in RESERVED_MEMBERS:
            raise ValueError("%s: a field must not be named %s" % (self.source["name"], member))
        nullable = Range.parse(source.get("nullableVersions")) & versions
        tagged = Range.parse(source.get("taggedVersions")) & versions
        override = Range.parse(source["flexibleVersions"]) if "flexibleVersions" in source else None
        return Field(
            source["name"],
            member,
            None if struct else kind,
            struct,
            is_array,
            versions,
            nullable,
            tagged,
            source.get("tag"),
            source.get("default", ZERO),
            source.get("ignorable", False),
            override,
        )


def load_all(directory):
    """All messages, ordered by name."""
    messages = []
    for path in sorted(pathlib.Path(directory).glob("*.json")):
        message = MessageLoader(json.loads(path.read_text(encoding="utf-8"))).load()
        if message.name != path.stem:
            raise ValueError("%s holds the message %s" % (path.name, message.name))
        check(message)
        messages.append(message)
    return messages


def check(message):
    """Properties that the emitters rely on."""
    taken = {
        "Reader",
        "Writer",
        "Uuid",
        "String",
        "Bytes",
        "Records",
        "UnknownTags",
        "JsonPrinter",
        "Result",
        "Error",
        message.name,
    }
    for struct in message.structs:
        if struct.name in taken:
            raise ValueError("%s: two things are named %s" % (message.name, struct.name))
        taken.add(struct.name)
    for struct in message.structs + [message.root]:
        for f in struct.fields:
            place = "%s.%s" % (message.name, f.json_name)
            if f.struct and not f.is_array and f.nullable and f.nullable != f.versions:
                raise ValueError(place + ": a struct that is null in some versions only")
            if f.tagged and f.tagged != f.versions:
                raise ValueError(place + ": tagged in some of its versions only")
            if f.tagged and f.scalar == "records":
                raise ValueError(place + ": records in a tagged field")
            if f.is_array and f.scalar in ("bytes", "records", "bool", "float64", "uint16", "uint32"):
                raise ValueError(place + ": no arrays of " + f.scalar)
            if struct is message.root and f.member in RESERVED_IN_ROOT:
                raise ValueError(place + ": a name that every message uses")
