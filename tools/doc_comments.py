#!/usr/bin/env python3
"""Shows Doxygen the comments of a public header: ours are plain `//`, Doxygen reads `///`.

usage: doc_comments.py HEADER (prints it). The comment that opens the file becomes that of the file;
a block above a declaration documents it, and one at the end of a line documents that line.
"""

import re
import sys


def escaped(text):
    """Text that Doxygen shall not take for commands or tags."""
    return re.sub(r"([\\@<>])", r"\\\1", text)


def show(lines):
    out = ["/// \\file"]
    in_code = False
    for line in lines:
        comment = re.match(r"(\s*)// ?(.*)$", line)
        is_code = comment is not None and comment[2].startswith("  ")
        if in_code and not is_code:
            out.append("/// \\endcode")
        if is_code and not in_code:
            out.append("/// \\code")
        in_code = is_code
        if comment:
            text = comment[2] if is_code else escaped(comment[2])
            out.append(f"{comment[1]}/// {text}".rstrip())
        else:
            out.append(re.sub(r"([;,{]\s+)// (.*)$",
                              lambda found: f"{found[1]}///< {escaped(found[2])}", line))
    return "\n".join(out)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print(show(file.read().splitlines()))


if __name__ == "__main__":
    main()
