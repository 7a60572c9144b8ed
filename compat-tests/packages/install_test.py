#!/usr/bin/env python3
"""cmake --install, and what is made from the command line: every command and option is in the completion of each shell and
in the manual page."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import suite  # noqa: E402
from broker import barnabas_binary  # noqa: E402

COMPLETION = {
    "bash": "share/bash-completion/completions/barnabas",
    "zsh": "share/zsh/vendor-completions/_barnabas",
    "fish": "share/fish/vendor_completions.d/barnabas.fish",
}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def commands(words=()):
    """Of each command its words and what its help lists: (words, commands below it, options)."""
    text = run(barnabas_binary(), *words, "--help")
    below = []
    if section := re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.MULTILINE):
        below = re.findall(r"^  ([a-z][a-z0-9-]*)", section[1], re.MULTILINE)
    options = re.findall(r"(?<![\w-])(--?[a-zA-Z][a-zA-Z0-9-]*)", "\n".join(re.findall(r"^  (-[^ ]+)", text, re.MULTILINE)))
    yield words, below, options
    for name in below:
        yield from commands((*words, name))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-test-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.prefix, ignore_errors=True)
        run("cmake", "--install", barnabas_binary().parent, "--prefix", cls.prefix, "--component", "broker")
        cls.commands = list(commands())

    def completed(self, shell, words, current):
        line = " ".join(["barnabas", *words, current])
        if shell == "fish":
            script = f"source {self.prefix / COMPLETION[shell]}; complete -C '{line}'"
            home = {"HOME": str(self.prefix), "PATH": "/usr/bin:/bin"}
            return [text.split("\t")[0] for text in run("fish", "--no-config", "-c", script, env=home).splitlines()]
        script = (f"source {self.prefix / COMPLETION[shell]}; COMP_WORDS=({line} {'' if current else chr(34) * 2}); "
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _barnabas; printf '%s\\n' \"${COMPREPLY[@]}\"")
        return run("bash", "--norc", "-c", script).splitlines()

    def test_what_is_installed(self):
        installed = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file()}
        self.assertEqual(installed, {"bin/barnabas", "share/man/man1/barnabas.1", *COMPLETION.values()})
        self.assertRegex(run(self.prefix / "bin/barnabas", "--version"), r"^barnabas \d")

    def test_commands_are_found_by_their_help(self):
        found = {words for words, _, _ in self.commands}
        for words in ((), ("format",), ("dump",), ("check",), ("completion",), ("random-uuid",)):
            self.assertIn(words, found)
        self.assertIn("--override", self.commands[0][2])

    def test_bash_and_fish_complete_every_command_and_option(self):
        for words, below, options in self.commands:
            for shell in ("bash", "fish"):
                with self.subTest(shell=shell, words=words):
                    if below:
                        self.assertLessEqual(set(below), set(self.completed(shell, words, "")))
                    long = {option for option in options if option.startswith("--")}
                    self.assertLessEqual(long, set(self.completed(shell, words, "--")))

    def test_values_out_of_a_set_are_completed(self):
        for shell in ("bash", "fish"):
            self.assertLessEqual({"bash", "zsh", "fish"}, set(self.completed(shell, ("completion",), "")), shell)

    def test_zsh_knows_every_command_and_option(self):
        path = self.prefix / COMPLETION["zsh"]
        run("zsh", "-n", path)
        script = path.read_text()
        for words, below, options in self.commands:
            entry = script[script.index(f"    '{' '.join(('barnabas', *words))}')\n"):]
            entry = entry[:entry.index(";;")]
            for name in [*below, *options]:
                self.assertIn(f"'{name}:", entry)

    def test_manual_page_has_every_command_and_option_and_no_mistake(self):
        page = self.prefix / "share/man/man1/barnabas.1"
        done = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou", page], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = done.stdout.replace("\N{HYPHEN}", "-").replace("\N{MINUS SIGN}", "-")
        for words, _, options in self.commands:
            self.assertIn(" ".join(("barnabas", *words)), text)
            for option in options:
                self.assertIn(option, text)


if __name__ == "__main__":
    suite.require_tools("bash", "cmake", "fish", "groff", "zsh")
    unittest.main(verbosity=2)
