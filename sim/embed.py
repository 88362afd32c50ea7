#!/usr/bin/env python3
"""Puts scenario files into the program: embed.py OUTPUT.h FILE.yaml…

Writes a C header with one `struct builtin` per file, in the order given: its name (the file's), its
summary (the line `title: …`) and its text. Bytes are written one by one, for ISO C promises no
string literal of over 4,095.
"""
import pathlib
import re
import sys


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array(name, data):
    lines = [f"static const char {name}[] = {{"]
    for start in range(0, len(data), 16):
        lines.append("    " + " ".join(f"'\\x{byte:02x}'," for byte in data[start:start + 16]))
    return "\n".join(lines + ["    0,", "};", ""])


def main():
    output, *files = sys.argv[1:]
    parts, rows = ["/* Made by embed.py. */\n"], []
    for file in map(pathlib.Path, files):
        data = file.read_bytes()
        title = re.search(r"^title: *(.+?) *$", data.decode("utf-8"), re.MULTILINE)
        if title is None or not re.fullmatch(r"[a-z][a-z0-9_]*", file.stem):
            sys.exit(f"{file}: it needs a line 'title: …', and a name of lower-case letters")
        parts.append(array(f"text_of_{file.stem}", data))
        rows.append(f"    {{{literal(file.stem)}, {literal(title[1])}, text_of_{file.stem}}},\n")
    parts.append("static const struct builtin builtins[] = {\n" + "".join(rows) + "};\n")
    pathlib.Path(output).write_text("\n".join(parts), encoding="utf-8")


main()
