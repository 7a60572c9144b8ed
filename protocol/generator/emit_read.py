"""Emits the read functions."""

from schema import INTEGERS
from sizes import element_bytes_expression

PLAIN = {**{k: k for k in INTEGERS}, "bool": "boolean", "float64": "float64", "uuid": "uuid"}


def flexible_text(field):
    return "flexible" if field.flexible_override is None else "false"


def read_statements(field, message, scope, in_tag):
    """C++ statements that read one field which the version has."""
    name, quoted, flexible = field.member, '"%s"' % field.json_name, flexible_text(field)
    nullable = field.nullable.condition(field.versions & scope)
    if field.is_array:
        rules = "{%s, %s, %s, %s}" % (
            flexible,
            nullable,
            element_bytes_expression(field, message, scope),
            quoted,
        )
        if field.struct:
            return ["read_structs(reader, %s, wire_version, %s);" % (name, rules)]
        return ["read_scalars(reader, %s, %s);" % (name, rules)]
    if field.struct:
        if not field.nullable:
            return ["%s.read(reader, wire_version);" % name]
        # Null is one byte below 0, but inside a tagged field it is an unsigned varint of 0.
        is_null = "static_cast<int32_t>(reader.uvarint()) <= 0" if in_tag else "reader.int8() < 0"
        return [
            "if (%s) {" % is_null,
            "  %s.reset();" % name,
            "} else {",
            "  %s.emplace().read(reader, wire_version);" % name,
            "}",
        ]
    if field.scalar in PLAIN:
        return ["%s = reader.%s();" % (name, PLAIN[field.scalar])]
    if field.scalar == "records":
        return ["%s = reader.records(%s, %s, %s);" % (name, flexible, nullable, quoted)]
    if field.is_nullable():
        return ["%s = reader.optional_%s(%s, %s, %s);" % (name, field.scalar, flexible, nullable, quoted)]
    return ["%s = reader.%s(%s, %s);" % (name, field.scalar, flexible, quoted)]


def indented(lines, by):
    return [" " * by + line for line in lines]


def guarded(condition, lines, otherwise=()):
    """`lines` under a test; the lines of `otherwise` where the test fails."""
    if condition == "true":
        return list(lines)
    middle = ["} else {"] + indented(otherwise, 2) if otherwise else []
    return ["if (%s) {" % condition] + indented(lines, 2) + middle + ["}"]


def tag_case(field, message, scope):
    lines = read_statements(field, message, scope, True)
    refusal = ['reader.fail("%s", wire_version, "a version with this tag");' % field.json_name]
    lines = guarded(field.tagged.condition(scope), lines, refusal)
    return ["case %d:" % field.tag] + indented(lines + ["reader.end_tag(wire_tag);", "break;"], 2)


def tag_section(struct, message):
    flexible = message.flexible.condition(struct.scope)
    if flexible == "false":
        return []
    tagged = struct.tagged_fields()
    if not tagged:
        return guarded(flexible, ["reader.unknown_tags(unknown_tags);"])
    cases = [line for f in tagged for line in tag_case(f, message, struct.scope & message.flexible)]
    lines = [
        "for (uint32_t wire_tags = reader.tag_count(); wire_tags > 0 && reader.ok(); --wire_tags) {",
        "  const Reader::Tag wire_tag = reader.tag();",
        "  switch (wire_tag.tag) {",
    ]
    lines += indented(cases, 4)
    lines += [
        "    default:",
        "      reader.unknown_tag(unknown_tags, wire_tag);",
        "  }",
        "}",
        "unknown_tags.put_in_order();",
    ]
    return guarded(flexible, lines)


def read_function(struct, message, qualified):
    """The definition of `qualified`::read; fields with the same condition share one test."""
    body, open_condition = [], None
    groups = []
    for f in struct.fields:
        condition = (f.versions & struct.scope).condition(struct.scope)
        if condition == "false" or f.tagged:
            continue
        statements = read_statements(f, message, struct.scope, False)
        if groups and condition == open_condition:
            groups[-1][1].extend(statements)
        else:
            groups.append((condition, statements))
        open_condition = condition
    for condition, statements in groups:
        body += guarded(condition, statements)
    body += tag_section(struct, message)
    lines = [
        "void %s::read([[maybe_unused]] Reader& reader, [[maybe_unused]] int16_t wire_version) {" % qualified
    ]
    if any("flexible" in line for line in body):
        lines.append("  const bool flexible = %s;" % message.flexible.condition(struct.scope))
    return lines + indented(body, 2) + ["}", ""]
