"""Emits the error codes and their table."""

import json

from names import enumerator_name


def error_code_header(errors):
    lines = [
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace barnabas::protocol {",
        "",
        "/// Error codes of the wire, spelt like Kafka's names in lower case.",
        "enum class ErrorCode : int16_t {",
    ]
    lines += ["  %s = %d," % (enumerator_name(e["name"]), e["code"]) for e in errors]
    return "\n".join(lines + ["};", "", "}  // namespace barnabas::protocol", ""])


def error_table(errors):
    lines = [
        '#include "protocol/error_table.h"',
        "",
        "namespace barnabas::protocol::detail {",
        "",
        "namespace {",
        "",
        "constexpr ErrorInfo rows[] = {",
    ]
    lines += [
        '    {%d, "%s", %s, %s},'
        % (e["code"], e["name"], "true" if e["retriable"] else "false", json.dumps(e["message"]))
        for e in errors
    ]
    lines += [
        "};",
        "",
        "}  // namespace",
        "",
        "constinit const std::span<const ErrorInfo> error_table(rows);",
        "",
        "}  // namespace barnabas::protocol::detail",
        "",
    ]
    return "\n".join(lines)
