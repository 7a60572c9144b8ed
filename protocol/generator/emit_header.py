"""Emits one header per message."""

from cpp_types import initializer, member_type
from names import enumerator_name
from versions import NEWEST

KINDS = {
    "request": "Request of API key %d",
    "response": "Response of API key %d",
    "header": "Header",
    "data": "Data",
    "metadata-record": "Record of __cluster_metadata",
    "coordinator-key": "Key in a coordinator's log",
    "coordinator-value": "Value in a coordinator's log",
    "remote-log-record": "Record of __remote_log_metadata",
}


def versions_text(field, message):
    low, high = field.versions.low, field.versions.high
    if low == high:
        return "v%d" % low
    return "v%d+" % low if high == message.versions.high else "v%d-v%d" % (low, high)


def note(field, message):
    """A comment for what the type does not say: versions, tag, silent dropping."""
    notes = []
    if not field.versions:
        notes.append("no version")
    elif field.versions != message.versions:
        notes.append(versions_text(field, message))
    if field.nullable and field.nullable != field.versions:
        notes.append("null from v%d" % field.nullable.low)
    if field.tagged:
        notes.append("tag %d" % field.tag)
    return "  ///< " + ", ".join(notes) if notes else ""


def struct_body(struct, message, indent):
    lines = [
        "%s%s %s%s;%s" % (indent, member_type(f), f.member, initializer(f), note(f, message))
        for f in struct.fields
    ]
    if message.flexible & message.versions:
        lines.append(indent + "UnknownTags unknown_tags{};")
    if lines:
        lines.append("")
    lines += [
        indent + "void read(Reader& reader, int16_t wire_version);",
        indent + "void write(Writer& writer, int16_t wire_version) const;",
        indent + "void print(JsonPrinter& printer, int16_t wire_version) const;",
        indent + "bool operator==(const %s&) const = default;" % struct.name,
    ]
    return lines


def constants(message, api_names):
    flexible = message.flexible & message.versions
    lines = [
        '  static constexpr const char* message_name = "%s";' % message.name,
        "  static constexpr int16_t min_version = %d;" % message.versions.low,
        "  static constexpr int16_t max_version = %d;" % message.versions.high,
        "  static constexpr int16_t first_flexible_version = %d;" % (flexible.low if flexible else NEWEST),
    ]
    if message.api_key is not None:
        lines.append(
            "  static constexpr ApiKey api_key = ApiKey::%s;" % enumerator_name(api_names[message.api_key])
        )
    if message.record_type is not None:
        lines.append("  static constexpr int16_t record_type = %d;" % message.record_type)
    if message.kind == "request":
        lines.append("  using Response = %sResponse;" % message.name.removesuffix("Request"))
    return lines


def header(message, api_names):
    kind = KINDS[message.kind]
    kind = kind % message.api_key if "%d" in kind else kind
    lines = ["#pragma once", "", '#include "protocol/message.h"', "", "namespace barnabas::protocol {", ""]
    if message.kind == "request":
        lines += ["struct %sResponse;" % message.name.removesuffix("Request"), ""]
    namespace = message.file_name + "_structs"
    if message.structs:
        lines += ["namespace %s {" % namespace, ""]
        for struct in message.structs:
            lines += ["struct %s {" % struct.name] + struct_body(struct, message, "  ") + ["};", ""]
        lines += ["}  // namespace " + namespace, ""]
    lines += [
        "/// %s, versions %d to %d." % (kind, message.versions.low, message.versions.high),
        "struct %s {" % message.name,
    ]
    lines += ["  using %s = %s::%s;" % (s.name, namespace, s.name) for s in message.structs]
    lines += [""] * bool(message.structs) + constants(message, api_names) + [""]
    lines += struct_body(message.root, message, "  ")
    lines += [
        "  /// Strings and bytes borrow from the reader's bytes. Bytes behind the message are left.",
        "  static Result<%s> decode(Reader& reader, int16_t wire_version);" % message.name,
        "  /// A failure is kept in the writer.",
        "  void encode(Writer& writer, int16_t wire_version) const;",
        "};",
        "",
        "}  // namespace barnabas::protocol",
        "",
    ]
    return "\n".join(lines)
