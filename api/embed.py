#!/usr/bin/env python3
"""Puts a JSON file into the program: embed.py OUTPUT.h FILE.json

Writes a C header with the document as one array of bytes, which is named after the file, in one line of JSON. Bytes are written one by one,
for ISO C promises no string literal of over 4,095.
"""
import json
import pathlib
import re
import sys


def main():
    output, file = sys.argv[1], pathlib.Path(sys.argv[2])
    document = json.loads(file.read_text(encoding="utf-8"))
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8") + b"\n"
    lines = ["/* Made by embed.py. */", f"static const char {re.sub('[^a-z]', '_', file.name)}[] = {{"]
    for start in range(0, len(data), 16):
        lines.append("    " + " ".join(f"'\\x{byte:02x}'," for byte in data[start:start + 16]))
    pathlib.Path(output).write_text("\n".join(lines + ["    0,", "};", ""]), encoding="utf-8")


main()
