"""Emits the sources: the messages in a fixed number of groups of about the same weight."""

from emit_read import read_function
from emit_write import print_function, write_function

GROUPS = 16


def message_functions(message):
    lines = []
    for struct in message.structs + [message.root]:
        qualified = (
            struct.name if struct is message.root else "%s_structs::%s" % (message.file_name, struct.name)
        )
        lines += read_function(struct, message, qualified)
        lines += write_function(struct, message, qualified)
        lines += print_function(struct, message, qualified)
    name = message.name
    lines += [
        "Result<%s> %s::decode(Reader& reader, int16_t wire_version) {" % (name, name),
        "  return decode_message<%s>(reader, wire_version);" % name,
        "}",
        "",
        "void %s::encode(Writer& writer, int16_t wire_version) const {" % name,
        "  encode_message(*this, writer, wire_version);",
        "}",
        "",
    ]
    return lines


def group_names():
    return ["messages_%02d.cc" % i for i in range(GROUPS)]


def grouped(messages):
    """The messages in order, cut into GROUPS runs."""
    total = sum(m.weight() for m in messages)
    groups = [[] for _ in range(GROUPS)]
    done = 0
    for message in messages:
        groups[min(GROUPS - 1, done * GROUPS // total)].append(message)
        done += message.weight()
    return groups


def source(messages):
    lines = ['#include "protocol/json_printer.h"']
    lines += ['#include "protocol/messages/%s.h"' % m.file_name for m in messages]
    lines += [
        '#include "protocol/reader.h"',
        '#include "protocol/writer.h"',
        "",
        "namespace barnabas::protocol {",
        "",
    ]
    for message in messages:
        lines += message_functions(message)
    return "\n".join(lines + ["}  // namespace barnabas::protocol", ""])
