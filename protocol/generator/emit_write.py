"""Emits the write and print functions."""

from cpp_types import differs_from_default
from emit_read import PLAIN, flexible_text, guarded, indented


def write_statements(field, scope, in_tag):
    """C++ statements that write one field which the version has."""
    name, quoted, flexible = field.member, '"%s"' % field.json_name, flexible_text(field)
    nullable = field.nullable.condition(field.versions & scope)
    if field.is_array:
        null_part = "%s, " % nullable if field.is_nullable() else ""
        if field.struct:
            return [
                "write_structs(writer, %s, wire_version, %s, %s%s);" % (name, flexible, null_part, quoted)
            ]
        return ["write_scalars(writer, %s, %s, %s%s);" % (name, flexible, null_part, quoted)]
    if field.struct:
        if not field.nullable:
            return ["%s.write(writer, wire_version);" % name]
        return [
            "writer.int8(%s ? 1 : %d);" % (name, 0 if in_tag else -1),
            "if (%s) %s->write(writer, wire_version);" % (name, name),
        ]
    if field.scalar in PLAIN:
        return ["writer.%s(%s);" % (PLAIN[field.scalar], name)]
    if field.scalar == "records":
        return ["writer.records(%s, %s, %s, %s);" % (name, flexible, nullable, quoted)]
    if field.is_nullable():
        return ["writer.optional_%s(%s, %s, %s, %s);" % (field.scalar, name, flexible, nullable, quoted)]
    if field.scalar == "bytes":
        return ["writer.bytes(%s, %s);" % (name, flexible)]
    return ["writer.%s(%s, %s, %s);" % (field.scalar, name, flexible, quoted)]


def refusal(field):
    return [
        'if (%s) writer.refuse_field("%s", wire_version);' % (differs_from_default(field), field.json_name)
    ]


def field_lines(field, scope):
    """An untagged field, or the refusal of a field that the version lacks."""
    condition = (field.versions & scope).condition(scope)
    lines = [] if field.tagged else write_statements(field, scope, False)
    if condition == "true":
        return lines
    if field.ignorable:
        return [] if condition == "false" or not lines else guarded(condition, lines)
    if condition == "false":
        return refusal(field)
    if not lines:
        return guarded("!(%s)" % condition, refusal(field))
    return guarded(condition, lines, refusal(field))


def tag_section(struct, message):
    flexible = message.flexible.condition(struct.scope)
    refuse = ['if (!unknown_tags.empty()) writer.refuse_field("unknown tags", wire_version);']
    if flexible == "false":
        return refuse if message.flexible & message.versions else []
    tagged = struct.tagged_fields()
    if tagged:
        scope = struct.scope & message.flexible
        lines = []
        for f in tagged:
            present = f.tagged.condition(scope)
            test = differs_from_default(f)
            if present != "true":
                test = "%s && (%s)" % (present, test) if "||" in test else "%s && %s" % (present, test)
            lines.append("const bool has_tag_%d = %s;" % (f.tag, test))
        total = "".join(" + (has_tag_%d ? 1 : 0)" % f.tag for f in tagged)
        lines += [
            "writer.uvarint(static_cast<uint32_t>(unknown_tags.size())%s);" % total,
            "std::size_t wire_tag = 0;",
        ]
        for f in tagged:
            lines.append("wire_tag = writer.unknown_tags(unknown_tags, wire_tag, %d);" % f.tag)
            inner = ["const std::size_t mark = writer.begin_tag(%d);" % f.tag]
            inner += write_statements(f, scope, True) + ["writer.end_tag(mark);"]
            lines += guarded("has_tag_%d" % f.tag, inner)
        lines.append("writer.unknown_tags(unknown_tags, wire_tag, UINT32_MAX);")
    else:
        lines = ["writer.unknown_tags(unknown_tags);"]
    return guarded(flexible, lines, refuse)


def write_function(struct, message, qualified):
    body = [line for f in struct.fields for line in field_lines(f, struct.scope)]
    body += tag_section(struct, message)
    lines = [
        "void %s::write([[maybe_unused]] Writer& writer, [[maybe_unused]] int16_t wire_version) const {"
        % qualified
    ]
    if any("flexible" in line for line in body):
        lines.append("  const bool flexible = %s;" % message.flexible.condition(struct.scope))
    return lines + indented(body, 2) + ["}", ""]


def print_function(struct, message, qualified):
    body = []
    for f in struct.fields:
        condition = (f.versions & struct.scope).condition(struct.scope)
        if condition == "false":
            continue
        if f.tagged:
            test = differs_from_default(f)
            condition = test if condition == "true" else "%s && (%s)" % (condition, test)
        call = "printer.structure(%s, wire_version);" if f.struct else "printer.value(%s);"
        body += guarded(condition, ['printer.key("%s");' % f.json_name, call % f.member])
    if message.flexible & message.versions:
        body.append("printer.unknown_tags(unknown_tags);")
    return (
        [
            "void %s::print(JsonPrinter& printer, [[maybe_unused]] int16_t wire_version) const {" % qualified,
            "  printer.begin_object();",
        ]
        + indented(body, 2)
        + ["  printer.end_object();", "}", ""]
    )
