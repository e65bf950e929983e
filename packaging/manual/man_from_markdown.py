#!/usr/bin/env python3
"""weir.yaml(5) from docs/policy.md: man_from_markdown.py FILE.md VERSION DATE > weir.yaml.5

Knows the Markdown that our documents use: headings, paragraphs, lists, fenced code, tables, and
inline code, emphasis and links. A table becomes a list: its first column is the heading, and what
the others say is text, since a terminal is too narrow for four columns of prose.
"""

import re
import sys

NAME = "weir.yaml"
ABOUT = "the policy file of weir: who may do how much, and where weir listens"


def escaped(text):
    """Letter by letter, hyphens that can be copied, and no line that is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def inline(text):
    """One paragraph's Markdown as troff."""
    out = []
    for part in re.split(r"(`[^`]*`)", text):
        if part.startswith("`") and len(part) > 1:
            out.append(f"\\fB{escaped(part[1:-1])}\\fR")
            continue
        part = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part)
        part = escaped(part)
        part = re.sub(r"\*\*([^*]+)\*\*", r"\\fB\1\\fR", part)
        out.append(re.sub(r"\*([^*]+)\*", r"\\fI\1\\fR", part))
    line = "".join(out)
    return line if not line.startswith((".", "'")) else "\\&" + line


def cells(row):
    """The cells of a table's row; a bar in code may be escaped."""
    return [cell.strip().replace("\\|", "|")
            for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    header, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    for row in body:
        yield ".TP\n" + (inline(row[0]) or "\\&")
        told = []
        for title, cell in zip(header[1:], row[1:]):
            if not cell:
                continue
            told.append((f"{title}: " if title else "") + inline(cell)
                        + ("" if cell.endswith(".") else "."))
        yield "\n".join(told) or "\\&"


def list_items(lines):
    """The items of a list, each in one line."""
    items = []
    for line in lines:
        if line.startswith("- "):
            items.append(line[2:])
        else:
            items[-1] += " " + line.strip()
    return items


def code(lines):
    yield ".PP\n.RS 4\n.nf"
    for line in lines:
        yield escaped(line) or "\\&"
    yield ".fi\n.RE"


def taken(lines, at, wanted):
    end = at
    while end < len(lines) and wanted(lines[end]):
        end += 1
    return lines[at:end], end


def body(text):
    lines = [line for line in text.splitlines() if not line.startswith("<!--")]
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.startswith("```"):
            block, at = taken(lines, at + 1, lambda one: not one.startswith("```"))
            at += 1
            yield from code(block)
        elif line.startswith("|"):
            block, at = taken(lines, at, lambda one: one.startswith("|"))
            yield from table(block)
        elif line.startswith("# "):
            at += 1
        elif line.startswith("## "):
            yield ".SH " + inline(line[3:].upper())
            at += 1
        elif line.startswith("#"):
            yield ".SS " + inline(line.lstrip("# ").replace("`", ""))
            at += 1
        elif line.startswith("- "):
            block, at = taken(lines, at, lambda one: bool(one.strip()))
            for item in list_items(block):
                yield ".IP \\(bu 2\n" + inline(item)
        else:
            block, at = taken(lines, at, lambda one: bool(one.strip())
                              and not one.startswith(("```", "|", "#", "- ")))
            yield ".PP\n" + inline(" ".join(part.strip() for part in block))


def page(markdown, version, date):
    parts = [f'.TH {NAME.upper()} 5 "{date}" "weir {version}" "File Formats"',
             f".SH NAME\n{NAME} \\- {ABOUT}", ".SH DESCRIPTION", *body(markdown),
             ".SH SEE ALSO\n.BR weir (1)"]
    # A paragraph mark right after a heading says nothing, and linters complain of it.
    return re.sub(r"(\.S[HS] [^\n]*\n)\.PP\n", r"\1", "\n".join(parts)) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(page(file.read(), *sys.argv[2:4]))
