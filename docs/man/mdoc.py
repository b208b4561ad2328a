"""Converts the text of header comments to mdoc(7), the language of manual pages."""

import re

#: The values of errno, and what they mean in this library.
ERRORS = {
    "EACCES": "Permission denied; for instance, it belongs to another user, or the directory of ports is not safe.",
    "EADDRINUSE": "The name or address is already in use.",
    "EAGAIN": "A resource is temporarily unavailable; try again.",
    "EBADF": "The socket is invalid, or the descriptor is not open.",
    "ECANCELED": "The request was cancelled.",
    "ECONNREFUSED": "No process serves the name or address.",
    "EILSEQ": "The bytes are not valid in the encoding, or the encoding lacks a character of the string.",
    "EINVAL": "Misuse, such as NULL for an object. The call is reported, and has no effect.",
    "EMFILE": "The process has no descriptors left.",
    "EMSGSIZE": "The message is too long for one datagram.",
    "ENAMETOOLONG": "The name, or the path of the directory of ports, is too long.",
    "ENFILE": "The system has no descriptors left.",
    "ENOENT": "There is no such file, the directory of ports cannot be created, or /proc is not mounted.",
    "ENOMEM": "Out of memory.",
    "ENOSYS": "The process lacks a library that the function needs, or the kernel is too old.",
    "ENOTSUP": "This kind of object does not support the operation.",
    "EOVERFLOW": "The size is too large.",
    "EPIPE": "The port is invalid, or the connection has ended.",
    "ESRCH": "The loop's thread has exited.",
    "ETIMEDOUT": "The time limit expired.",
    "EWOULDBLOCK": "The operation would block.",
}
OPENING = "([\"\u201c"
CLOSING = ".,:;)]?!\""
#: An opening delimiter, a word that may be marked up, and a closing delimiter or the end of the word.
WORD = re.compile(rf"([{re.escape(OPENING)}]*)(`[^`]+`|[\w./]+?(?:\(\w?\))?)([{re.escape(CLOSING)}]*|['\u2019-]\S*)")


def escaped(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text[:1] in (".", "'") else text


def argument(text):
    """Quotes one argument of a macro, so that it is not taken for a macro or a delimiter."""
    text = text.replace("\\", "\\e").replace('"', "\\(dq")
    return f'"{text}"' if " " in text or re.fullmatch(r"[A-Z][a-z]|[^\w]", text) or not text else text


class Writer:
    """Turns text into lines of a page. `page_of` returns the name and section of the page for a function or a header's file, and
    `own` has the functions of the page being written, which need no reference."""

    def __init__(self, page_of, own=()):
        self.page_of, self.own, self.references = page_of, set(own), set()

    def function(self, name):
        page = None if name in self.own else self.page_of(name)
        if page is None:
            return f"Fn {name}"
        self.references.add(page)
        return f"Xr {name} {page[1]}"

    def macro(self, word):
        """The macro for a word that needs markup, or None."""
        if match := re.fullmatch(r"`(RL\w+)(?:\(\))?`", word):
            if self.page_of(match[1]):
                return self.function(match[1])
        if match := re.fullmatch(r"`(kRL[A-Z]\w+)`", word):
            return f"Dv {match[1]}"
        if match := re.fullmatch(r"`([^`]+)`", word):
            return f"Ql {' '.join(argument(part) for part in [match[1]])}"
        if match := re.fullmatch(r"(k?(?:RL|CF)[A-Z]\w+|RLSTR|fork|longjmp|abort|free|malloc|getaddrinfo|dispatch_main)\(\)", word):
            return self.function(match[1])
        if match := re.fullmatch(r"(RL\w+|RunLoop)\.h", word):
            page = self.page_of(word)
            if page:
                self.references.add(page)
                return f"Xr {page[0]} {page[1]}"
            return f"In RunLoop/{word}"
        if match := re.fullmatch(r"([a-z_]\w+)\(([237])\)", word):
            return f"Xr {match[1]} {match[2]}"
        if re.fullmatch(r"kRL[A-Z]\w+|NULL|HUGE_VAL", word):
            return f"Dv {word}"
        if word in ERRORS:
            return f"Er {word}"
        if re.fullmatch(r"examples/[\w/-]+(?:\.c)?|docs/\w+\.md|SECURITY\.md|/(?:dev|proc|run|tmp)[\w/-]*", word):
            return f"Pa {word}"
        return None

    def text(self, text):
        """The lines of one paragraph; each sentence begins a new line."""
        lines, line = [], []

        def end():
            if line:
                lines.append(escaped(" ".join(line)))
                line.clear()

        for word in re.findall(r"[^\s`]*`[^`]+`[^\s`]*|\S+", text):
            match = WORD.fullmatch(word)
            macro = self.macro(match[2]) if match else None
            if macro:
                end()
                before, behind = match[1], match[3]
                if behind[:1] in "'\u2019-" and behind:
                    behind = f" Ns {argument(behind)}"
                else:
                    behind = "".join(f" {character}" for character in behind).replace('"', "\\(dq")
                lines.append("." + (f"Pf {before} ".replace('"', "\\(dq") if before else "") + macro + behind)
                continue
            line.append(word)
            if re.search(r"[.:?!][)\"]?$", word) and not re.search(r"^\d{1,2}\.$", word) or sum(map(len, line)) + len(line) > 100:
                end()
        end()
        return lines

    def literal(self, lines):
        return [".Bd -literal", *(escaped(line) for line in lines), ".Ed"]

    def blocks(self, lines):
        """The lines of a chapter: paragraphs, lists with dashes or numbers, and indented text, which is copied literally."""
        written, paragraph, items, block = [], [], [], []

        def end_paragraph():
            if paragraph:
                written.extend([".Pp", *self.text(" ".join(paragraph))])
                paragraph.clear()

        def end_list():
            if items:
                numbered = items[0][0] != "-"
                written.append('.Bl -tag -width 4n' if numbered else ".Bl -bullet")
                for mark, words in items:
                    written.extend([f".It {mark}" if numbered else ".It", *self.text(" ".join(words))])
                written.append(".El")
                items.clear()

        def end_block():
            while block and not block[-1].strip():
                block.pop()
            if block:
                margin = min(len(line) - len(line.lstrip()) for line in block if line.strip())
                written.extend(self.literal([line[margin:] for line in block]))
                block.clear()

        after_blank = True
        for line in lines:
            indent = len(line) - len(line.lstrip())
            item = re.match(r" {0,2}(-|\d+\.) +(.*)", line)
            if not line.strip():
                if block:
                    block.append(line)
                else:
                    end_paragraph(), end_list()
                after_blank = True
                continue
            if indent >= 4 and (block or after_blank and not items):
                block.append(line)
            elif item:
                end_paragraph(), end_block()
                items.append((item[1], [item[2]]))
            elif items and indent >= 2:
                items[-1][1].append(line.strip())
            else:
                end_list(), end_block()
                paragraph.append(line.strip())
            after_blank = False
        end_paragraph(), end_list(), end_block()
        return written

    def markdown(self, text):
        """A document: paragraphs, lists, headings, fenced code and tables of two columns, which become lists."""
        written, paragraph, row, points = [], [], 0, []

        def plain(words):
            return re.sub(r"\*+(\S[^*]*)\*+", r"\1", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words))

        def end():
            nonlocal row
            if points:
                written.append(".Bl -bullet")
                for point in points:
                    written.extend([".It", *self.text(plain(" ".join(point)))])
                written.append(".El")
                points.clear()
            if paragraph:
                written.extend([".Pp", *self.text(plain(" ".join(paragraph)))])
                paragraph.clear()
            if row:
                written.append(".El")
                row = 0

        fence = None
        for line in text.splitlines():
            if line.startswith("```"):
                if fence is not None:
                    written.extend(self.literal(fence))
                else:
                    end()
                    if line == "```text" and written[-1:] == [".Ed"]:
                        written.extend([".Pp", "It prints:"])
                fence = [] if fence is None else None
            elif fence is not None:
                fence.append(line)
            elif line.startswith("|"):
                cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                if row == 0:
                    end()
                    written.append(".Bl -tag -width Ds")
                elif row > 1:
                    head = [part.removeprefix(".") for part in self.text(plain(cells[0]))]  # macros are called on the line of .It
                    written.extend([".It " + " ".join(head), *self.text(plain(cells[1]))])
                row += 1
            elif line.startswith("#"):
                end()
                written.append(f".Ss {plain(line.lstrip('# '))}")
            elif line.startswith("- "):
                if not points:
                    end()
                points.append([line[2:].strip()])
            elif points and line.startswith("  "):
                points[-1].append(line.strip())
            elif line.strip():
                if row or points:
                    end()
                paragraph.append(line.strip())
            else:
                end()
        end()
        return [line for before, line in zip(["", *written], written) if line != ".Pp" or not before.startswith(".Ss")]
