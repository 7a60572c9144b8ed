"""The least bytes that a value takes on the wire, by version: what bounds the count of an array."""

FIXED = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


def scalar_bytes(kind, flexible):
    if kind in FIXED:
        return FIXED[kind]
    if flexible:
        return 1
    return 2 if kind == "string" else 4


def field_bytes(field, message, version):
    flexible = version in (field.flexible_override or message.flexible)
    if field.is_array:
        return 1 if flexible else 4
    if field.struct:
        return 1 if version in field.nullable else struct_bytes(field.struct, message, version)
    return scalar_bytes(field.scalar, flexible)


def struct_bytes(struct, message, version):
    total = sum(
        field_bytes(f, message, version)
        for f in struct.fields
        if version in f.versions and version not in f.tagged
    )
    return total + (1 if version in message.flexible else 0)


def element_bytes_expression(field, message, scope):
    """C++ for the least bytes of one element of an array field."""
    by_version = []
    for version in (field.versions & scope).each():
        if field.struct:
            size = struct_bytes(field.struct, message, version)
        else:
            size = scalar_bytes(field.scalar, version in message.flexible)
        if not by_version or by_version[-1][1] != size:
            by_version.append((version, size))
    if not by_version:
        return "1u"
    text = "%du" % by_version[0][1]
    for version, size in by_version[1:]:
        text = "wire_version >= %d ? %du : %s" % (version, size, text)
    return text
