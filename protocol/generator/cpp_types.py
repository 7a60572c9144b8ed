"""How a field looks in C++: its type, its default, and the test for "not the default"."""

from schema import INTEGERS, SCALARS, ZERO


def element_type(field):
    return field.struct.name if field.struct else SCALARS[field.scalar]


def member_type(field):
    base = element_type(field)
    if field.is_array:
        base = "std::vector<%s>" % base
    if field.is_nullable() and field.scalar != "records":
        base = "std::optional<%s>" % base
    return base


def literal(field):
    """The default of an integer, bool or double."""
    if field.default is ZERO:
        return {"bool": "false", "float64": "0.0"}.get(field.scalar, "0")
    if field.scalar == "bool":
        return "true" if field.default else "false"
    return str(field.default)


def initializer(field):
    """What stands behind the member's name in its declaration."""
    plain = not field.is_array and not field.struct
    if plain and (field.scalar in INTEGERS or field.scalar in ("bool", "float64")):
        return " = " + literal(field)
    if plain and field.scalar == "string" and isinstance(field.default, str) and field.default:
        return ' = "%s"' % field.default
    if field.is_nullable() and field.scalar != "records" and field.default is ZERO:
        return " = %s()" % member_type(field)[len("std::optional<") : -1]
    return "{}"


def differs_from_default(field):
    """A C++ expression."""
    name, nullable, is_null = field.member, field.is_nullable(), field.default is None
    if field.scalar == "records" and not field.is_array:
        return "!%s.is_null()" % name if is_null else "%s.size() > 0" % name
    if nullable and is_null:
        return name + ".has_value()"
    if field.is_array or field.scalar in ("string", "bytes"):
        if isinstance(field.default, str) and field.default:
            return '%s != "%s"' % (name, field.default)
        return "!%s || !%s->empty()" % (name, name) if nullable else "!%s.empty()" % name
    if field.struct:
        empty = field.struct.name + "{}"
        return "!%s || !(*%s == %s)" % (name, name, empty) if nullable else "!(%s == %s)" % (name, empty)
    if field.scalar == "uuid":
        return "!%s.is_zero()" % name
    if field.scalar == "bool":
        return "!" + name if literal(field) == "true" else name
    return "%s != %s" % (name, literal(field))
