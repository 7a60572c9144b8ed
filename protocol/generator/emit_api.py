"""Emits the API keys and their table."""

from names import enumerator_name
from versions import NEWEST


def api_names(apis):
    return {a["apiKey"]: a["name"] for a in apis}


def api_key_header(apis):
    lines = [
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace barnabas::protocol {",
        "",
        "/// The kinds of requests, by number on the wire. Numbers that Kafka has retired are left out.",
        "enum class ApiKey : int16_t {",
    ]
    lines += ["  %s = %d," % (enumerator_name(a["name"]), a["apiKey"]) for a in apis if not a.get("removed")]
    return "\n".join(lines + ["};", "", "}  // namespace barnabas::protocol", ""])


def boolean(value):
    return "true" if value else "false"


def api_table(apis):
    lines = [
        '#include "protocol/api_table.h"',
        "",
        "namespace barnabas::protocol::detail {",
        "",
        "namespace {",
        "",
        "constexpr ApiInfo rows[] = {",
    ]
    for a in apis:
        if a.get("removed"):
            continue
        flexible = a["flexibleFrom"]
        response_flexible = [
            int(v[0])
            for k, r in a["responseHeaderVersion"].items()
            if k == "1"
            for v in [r.replace("+", "-").split("-")]
        ]
        lines.append(
            '    {ApiKey::%s, "%s", %d, %d, %s, %d, %d, %s, %s, %s, %s},'
            % (
                enumerator_name(a["name"]),
                a["name"],
                a["minVersion"],
                a["maxVersion"],
                boolean(a["latestVersionUnstable"]),
                flexible if flexible is not None else NEWEST,
                response_flexible[0] if response_flexible else NEWEST,
                boolean("broker" in a["listeners"]),
                boolean("controller" in a["listeners"]),
                boolean(a["clusterAction"]),
                boolean(a["forwardable"]),
            )
        )
    lines += [
        "};",
        "",
        "}  // namespace",
        "",
        "constinit const std::span<const ApiInfo> api_table(rows);",
        "",
        "}  // namespace barnabas::protocol::detail",
        "",
    ]
    return "\n".join(lines)
