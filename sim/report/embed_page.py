#!/usr/bin/env python3
"""Puts the report's page into the program: embed_page.py OUTPUT.h PAGE.html

Each {{file}} in the page is replaced by that file, from the same folder; {{sources}} by what its Content-Security-Policy
needs to allow its one style and its one script, their digests. The page is cut in two at {{data}}. Bytes are written one by
one, for ISO C promises no string literal of over 4,095.
"""
import base64
import hashlib
import pathlib
import re
import sys


def array(name, data):
    lines = [f"static const char {name}[] = {{"]
    for start in range(0, len(data), 16):
        lines.append("    " + " ".join(f"'\\x{byte:02x}'," for byte in data[start:start + 16]))
    return "\n".join(lines + ["    0,", "};", ""])


def digest(page, element):
    [content] = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
    return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"


def main():
    output, page_file = map(pathlib.Path, sys.argv[1:])
    page = re.sub(r"\{\{(page[a-z_]*\.(?:css|js))\}\}",
                  lambda match: (page_file.parent / match[1]).read_text(encoding="utf-8"),
                  page_file.read_text(encoding="utf-8"))
    page = page.replace("{{sources}}", f"style-src {digest(page, 'style')}; script-src {digest(page, 'script')}")
    before, after = page.split("{{data}}")
    output.write_text("/* Made by embed_page.py. */\n\n" + array("page_before", before.encode()) + "\n" +
                      array("page_after", after.encode()), encoding="utf-8")


main()
