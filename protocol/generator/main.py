"""Generates the messages from the schemas.

main.py --list                          the files that are generated, one per line
main.py --protocol DIR --output DIR     generates them; files that would not change are left alone
"""

import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import emit_api  # noqa: E402
import emit_errors  # noqa: E402
import emit_header  # noqa: E402
import emit_metadata  # noqa: E402
import emit_registry  # noqa: E402
import emit_source  # noqa: E402
import schema  # noqa: E402


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def generate(protocol):
    """All generated files: name below the output directory -> text."""
    messages = schema.load_all(protocol / "schemas")
    apis = read_json(protocol / "apis.json")["apis"]
    errors = read_json(protocol / "errors.json")["errors"]
    names = emit_api.api_names(apis)
    files = {
        "protocol/api_key.h": emit_api.api_key_header(apis),
        "protocol/api_table.cc": emit_api.api_table(apis),
        "protocol/error_code_numbers.h": emit_errors.error_code_header(errors),
        "protocol/error_table.cc": emit_errors.error_table(errors),
        "protocol/metadata_record_types.h": emit_metadata.metadata_record_types(messages),
    }
    files |= emit_registry.registry_files(messages)
    for message in messages:
        files["protocol/messages/%s.h" % message.file_name] = emit_header.header(message, names)
    for name, group in zip(emit_source.group_names(), emit_source.grouped(messages)):
        files["protocol/messages/" + name] = emit_source.source(group)
    return files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--protocol", type=pathlib.Path, required=True, help="the protocol room")
    parser.add_argument("--output", type=pathlib.Path, help="the folder for generated files")
    parser.add_argument("--list", action="store_true", help="only name the files")
    arguments = parser.parse_args()
    files = generate(arguments.protocol)
    if arguments.list:
        print(";".join(files), end="")
        return
    for name, text in files.items():
        path = arguments.output / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
