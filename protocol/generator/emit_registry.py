"""Emits the registry of all messages, for tests, fuzz targets and tools."""

GROUPS = 6


def group_names():
    return ["registry_%d.cc" % i for i in range(GROUPS)]


def kind_enumerator(kind):
    return kind.replace("-", "_")


def group_source(messages, index):
    lines = ['#include "protocol/registry_row.h"']
    lines += ['#include "protocol/messages/%s.h"' % m.file_name for m in messages]
    lines += [
        "",
        "namespace barnabas::protocol::detail {",
        "",
        "std::span<const MessageInfo> registry_%d() {" % index,
        "  static const MessageInfo rows[] = {",
    ]
    lines += [
        "      registry_row<%s>(MessageKind::%s)," % (m.name, kind_enumerator(m.kind)) for m in messages
    ]
    return "\n".join(
        lines + ["  };", "  return rows;", "}", "", "}  // namespace barnabas::protocol::detail", ""]
    )


def groups_header():
    lines = [
        "#pragma once",
        "",
        "#include <span>",
        "",
        '#include "protocol/registry.h"',
        "",
        "namespace barnabas::protocol::detail {",
        "",
    ]
    lines += ["std::span<const MessageInfo> registry_%d();" % i for i in range(GROUPS)]
    lines += ["", "inline constexpr std::span<const MessageInfo> (*registry_groups[])() = {"]
    lines += ["    registry_%d," % i for i in range(GROUPS)]
    return "\n".join(lines + ["};", "", "}  // namespace barnabas::protocol::detail", ""])


def registry_files(messages):
    size = -(-len(messages) // GROUPS)
    files = {"protocol/registry_groups.h": groups_header()}
    for i, name in enumerate(group_names()):
        files["protocol/registry/" + name] = group_source(messages[i * size : (i + 1) * size], i)
    return files
