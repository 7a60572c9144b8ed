"""Emits the variant over all records of the metadata log."""


def metadata_record_types(messages):
    records = sorted((m for m in messages if m.kind == "metadata-record"), key=lambda m: m.record_type)
    lines = ["#pragma once", "", "#include <variant>", ""]
    lines += ['#include "protocol/messages/%s.h"' % name for name in sorted(m.file_name for m in records)]
    lines += [
        "",
        "namespace barnabas::protocol {",
        "",
        "/// Any record of __cluster_metadata, ordered by record type.",
        "using MetadataRecord = std::variant<",
    ]
    lines += ["    %s%s" % (m.name, "," if m is not records[-1] else ">;") for m in records]
    return "\n".join(lines + ["", "}  // namespace barnabas::protocol", ""])
