#!/usr/bin/env python3
"""Writes the C++ tables of Kafka's settings from metadata/configs.json and the sentences about them in
metadata/config_docs.json. Usage: config_table.py CONFIGS_JSON DOCS_JSON OUTPUT"""

import json
import sys

TYPES = {
    "boolean": "boolean", "string": "string", "int": "int32", "short": "int16", "long": "int64",
    "double": "float64", "list": "list", "class": "class_name", "password": "password",
}
UPDATE_MODES = {"read-only": "read_only", "per-broker": "per_broker", "cluster-wide": "cluster_wide"}


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def default_literal(value):
    """The default as the text that a settings file would hold; a null pointer for none."""
    if value is None:
        return "nullptr"
    if isinstance(value, bool):
        return literal("true" if value else "false")
    if isinstance(value, list):
        return literal(",".join(value))
    if isinstance(value, float):
        return literal(repr(value).replace("e+", "E"))  # as Java writes it
    return literal(str(value))


def documentation(docs, kind, name):
    """A sentence of its own, or that of the first family whose prefix the name has."""
    own = docs[kind].get(name)
    return own or next(text for prefix, text in docs["families"] if name.startswith(prefix))


def row(entry, synonyms_name, text):
    flags = {
        "null_allowed": entry.get("nullAllowed", True),
        "empty_list_allowed": entry.get("emptyListAllowed", True),
        "duplicates_allowed": entry.get("duplicatesAllowed", True),
        "internal": entry.get("internalConfig", False),
        "required": entry.get("required", False),
    }
    return (
        f"    {{{literal(entry['name'])}, ConfigType::{TYPES[entry['type']]}, {default_literal(entry.get('default'))}, "
        f"{literal(entry.get('validValues') or '')}, UpdateMode::{UPDATE_MODES[entry.get('updateMode', 'read-only')]}, "
        + ", ".join("true" if flag else "false" for flag in flags.values())
        + f", {synonyms_name}, {literal(text)}}},"
    )


def synonyms(table, entry):
    """Declares the array of an entry's broker-level names; returns the declaration and what refers to it."""
    listed = entry.get("serverSynonyms") or []
    if entry.get("brokerSynonym"):
        listed = [{"name": entry["brokerSynonym"], "multiplier": 1}]
    if not listed:
        return None, "{}"
    name = f"{table}_synonyms_{entry['name'].replace('.', '_')}"
    rows = ", ".join(f"{{{literal(s['name'])}, {s['multiplier']}}}" for s in listed)
    return f"constexpr ConfigSynonym {name}[] = {{{rows}}};", name


def write_table(out, table, entries, docs, kind):
    entries = sorted(entries, key=lambda entry: entry["name"])
    referred = []
    for entry in entries:
        declaration, name = synonyms(table, entry)
        if declaration:
            out.write(declaration + "\n")
        referred.append(name)
    out.write(f"constexpr ConfigDefinition {table}_table[] = {{\n")
    for entry, name in zip(entries, referred):
        out.write(row(entry, name, documentation(docs, kind, entry["name"])) + "\n")
    out.write("};\n\n")


def main():
    source, sentences, output = sys.argv[1:4]
    with open(source, encoding="utf-8") as file:
        configs = json.load(file)
    with open(sentences, encoding="utf-8") as file:
        docs = json.load(file)
    with open(output, "w", encoding="utf-8") as out:
        out.write("// Made by metadata/generator/config_table.py from metadata/configs.json.\n\n")
        write_table(out, "broker", configs["broker"] + configs["brokerDynamicOnly"] + configs["barnabas"], docs, "broker")
        write_table(out, "topic", configs["topic"], docs, "topic")
        write_table(out, "group", configs["group"], docs, "group")
        write_table(out, "client_metrics", configs["clientMetrics"], docs, "clientMetrics")


if __name__ == "__main__":
    main()
