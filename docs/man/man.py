"""Generates the manual pages from the headers' comments: man.py DIRECTORY. docs/man/pages.txt lists which functions share a page."""

import datetime
import os
import pathlib
import re
import sys

from headers import INCLUDE, ROOT, Header, name_of, without_comments
from mdoc import ERRORS, Writer, argument

HERE = pathlib.Path(__file__).resolve().parent
#: The longest example that is shown in full, in lines; of a longer one, a part is shown.
LONGEST = 32
#: The descriptions of parameters that comments omit, by type; for other types, the name of the type is used.
PARAMETERS = {
    "RLAllocatorRef": "Ignored; pass NULL.",
    "RLRunLoopRef": "The loop, from RLRunLoopGetCurrent(), RLRunLoopGetMain() or another thread.",
    "RLRunLoopMode": "The name of a mode: kRLRunLoopDefaultMode, a name of your choice, or kRLRunLoopCommonModes for all common modes.",
    "RLFileDescriptorRef": "The descriptor object.",
    "RLMessagePortRef": "The port, local or remote.",
    "RLMessagePortRequestRef": "The request.",
    "RLNotificationName": "The name of the notification.",
    "RLNotificationCenterRef": "The center, from RLNotificationCenterGetLocalCenter().",
}
#: Subjects that SEE ALSO omits although an argument has their type, because they are everywhere.
EVERYWHERE = {"runloop", "runloop-objects", "runloop-string", "runloop-data", "runloop-array", "runloop-date"}
#: How to link the functions that a folder of headers declares.
LIBRARIES = {"RunLoop": ["librunloop (\\-lrunloop, pkg-config runloop)"],
             "RunLoopKit": ["librunloop-kit (\\-lrunloop-kit \\-lrunloop, pkg-config runloop-kit)"],
             "RunLoopTrace": ["librunloop-trace (\\-lrunloop-trace \\-lrunloop, pkg-config runloop-trace)"]}
#: Pages of section 7 that are documents, with their descriptions in the list of subjects.
DOCUMENTS = {"runloop-modes": ("docs/guide/03-modes.md", "Modes: which items a run serves, and which it leaves waiting."),
             "runloop-porting": ("docs/PORTING.md", "Porting programs from macOS and from other event loops."),
             "runloop-debugging": ("docs/DEBUGGING.md", "Debugging: reports of misuse, backtraces, traces and checkers.")}


class Page:
    """A page of section 3, as described in pages.txt."""

    def __init__(self, brief, chapter):
        self.brief, self.names, self.errors, self.constants, self.chapter = brief, [], [], [], chapter

    @property
    def name(self):
        return self.names[0]


class Chapter:
    """A page of section 7, for one header or two."""

    def __init__(self, name, headers):
        self.name, self.headers, self.pages = name, headers, []


def contents():
    chapters, brief = [], None
    for line in (HERE / "pages.txt").read_text().splitlines():
        if match := re.fullmatch(r"\[(\S+) (.*)\]", line):
            chapters.append(Chapter(match[1], match[2].split()))
        elif line.startswith(" "):
            if brief:
                chapters[-1].pages.append(Page(brief, chapters[-1]))
                brief = None
            page = chapters[-1].pages[-1]
            page.names += [word for word in line.split() if word.startswith("RL")]
            page.errors += [word for word in line.split() if word in ERRORS]
            page.constants += [word for word in line.split() if word.startswith("kRL")]
        elif line and not line.startswith("#"):
            brief = line
    return chapters


def version():
    return re.search(r"^VERSION *:= (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]


def date():
    """The date of the pages: that of $SOURCE_DATE_EPOCH if it is set, otherwise today."""
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc) \
        if os.environ.get("SOURCE_DATE_EPOCH") else datetime.datetime.now()
    return f"{moment:%B} {moment.day}, {moment.year}"


def lower_first(text):
    return text if re.match(r"[A-Z]{2}|kRL|RL|\W", text) else text[:1].lower() + text[1:]


def upper_first(text):
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+(?![\w.(])", text) else text


def listed(names):
    """"a, b and c", each with its macro."""
    lines = [f".{name}" for name in names]
    if len(lines) == 1:
        return lines
    return [f"{line} ," for line in lines[:-2]] + [lines[-2], "and", lines[-1]]


class Manual:
    def __init__(self):
        self.chapters = contents()
        self.headers = {name: Header(name) for chapter in self.chapters for name in chapter.headers}
        self.functions = {function.name: function for header in self.headers.values() for function in header.functions}
        self.callbacks = {function.name: function for header in self.headers.values() for function in header.callbacks}
        self.pages = {name: page for chapter in self.chapters for page in chapter.pages for name in page.names}
        self.types = {}
        for header in self.headers.values():
            for before, kind in zip([None, *header.types], header.types):
                if kind.kind == "enum" and not kind.name and before and re.match(r"typedef (RLIndex|RLOptionFlags|u?int32_t) ", before.declaration):
                    kind.name = before.name
                if kind.name and kind.kind != "other":
                    self.types[kind.name] = kind
        for function in [*self.functions.values(), *self.callbacks.values()]:
            self.cite(function)
        self.aliases = self.names_of_corefoundation()
        #: The origin of the objects of a type: the page of the function that creates them.
        self.origins = {}
        for function in self.functions.values():
            if re.search("Create|GetLocalCenter", function.name) and function.result.startswith("RL"):
                self.origins.setdefault(function.result, self.pages[function.name])

    def page_of(self, name):
        """The page of a function, or of a header's file."""
        if name in self.pages:
            return self.pages[name].name, 3
        if name == "RunLoop.h":
            return "runloop", 7
        return next(((chapter.name, 7) for chapter in self.chapters if name in chapter.headers), None)

    def names_of_corefoundation(self):
        """CF's name of a function → the RL name: from the labels in CF's headers, and from inline functions."""
        found = {}
        for path in sorted((INCLUDE / "CoreFoundation").glob("*.h")):
            source = without_comments(path.read_text())
            inline = re.findall(r"^CF_INLINE [^;{]*?\b(CF\w+)\(", source, re.MULTILINE)
            found |= {name: "RL" + name[2:] for name in inline if "RL" + name[2:] in self.functions}
            for declaration in source.split(";"):
                label = re.search(r"__asm__\(\s*\"(RL\w+)\"\s*\)", declaration)
                name = re.search(r"\b(CF\w+)\s*\(", declaration.partition("__asm__")[0].rpartition("}")[2])
                if label and name and label[1] in self.functions:
                    found[name[1]] = label[1]
        return found

    # ---- A page of section 3 ----

    def head(self, name, section, names, brief):
        return [".\\\" Generated by docs/man/man.py from the headers of librunloop.", f".Dd {date()}", f".Dt {name.upper()} {section}",
                f".Os librunloop {version()}", ".Sh NAME", *(f".Nm {each} ," for each in names[:-1]), f".Nm {names[-1]}",
                f".Nd {brief}"]

    def of_functions(self, page):
        functions = [self.functions[name] for name in page.names]
        write = Writer(self.page_of, page.names)
        lines = self.head(page.name, 3, page.names, page.brief)
        lines += [".Sh LIBRARY", *LIBRARIES[self.headers[functions[0].header].folder]]
        lines += self.synopsis(functions)
        lines += self.description(functions, write)
        lines += self.parameters(functions, write)
        lines += self.types_used(page, functions, write)
        lines += self.ownership(functions, write)
        lines += self.returned(functions, write)
        lines += self.example(page, functions)
        lines += self.errors(page, functions, write)
        lines += self.threads(functions, write)
        lines += self.labelled("COST", "Cost", functions, write)
        lines += self.names_in_cf(page)
        return lines + self.see_also(page, write)

    def synopsis(self, functions):
        folder = self.headers[functions[0].header].folder
        lines = [".Sh SYNOPSIS", f".In {folder}/{folder}.h"]
        for function in functions:
            lines += [f".Ft {argument(function.result) if ' ' not in function.result else function.result}", f".Fo {function.name}"]
            lines += [f".Fa {argument(parameter)}" for parameter in function.parameters or ["void"]] + [".Fc"]
        return lines

    def own_text(self, function):
        """The text of a function's comment, and the function that documents its parameters and result."""
        match = re.search(r"\s*Parameters and result as (RL\w+)\(\)\.", function.text)
        return re.sub(r"\s*Parameters and result as (RL\w+)\(\)\.", "", function.text), \
            self.functions[match[1]] if match else function

    def cite(self, function):
        """Completes references such as `see "Lateness"`, which name a chapter of the header, with the name of the header."""
        chapters = [title for title, _ in self.headers[function.header].chapters]

        def cited(text):
            return re.sub(r'see "([^"]+)"(?: above)?', lambda match: f'see {function.header}, "{match[1]}"'
                          if match[1] in chapters else match[0], text)

        function.text, function.returned = cited(function.text), cited(function.returned)
        function.described = {name: cited(text) for name, text in function.described.items()}
        function.labels = {name: cited(text) for name, text in function.labels.items()}

    def description(self, functions, write):
        lines = [".Sh DESCRIPTION"]
        for number, function in enumerate(functions):
            text = self.own_text(function)[0]
            if re.match(r"[A-Z][a-z]+s ", text):
                text = lower_first(text)
            else:
                text = "is " + text
            lines += [".Pp"] * (number > 0) + [f".Fn {function.name}", *write.text(text)]
            if function.is_block:
                lines += write.text("It is available if the compiler supports blocks (clang -fblocks); "
                                    "the program must link the blocks runtime.")
        return lines

    def described(self, function):
        """Parameters in the order of the declaration, with their texts."""
        other = self.own_text(function)[1]
        texts = {**other.described, **function.described}
        for parameter in function.parameters:
            if parameter != "...":
                name = name_of(parameter)
                yield name, texts.get(name) or self.of_type(parameter, name, function)

    @staticmethod
    def of_type(parameter, name, function):
        """The description of a parameter that the function's comment does not describe."""
        kind = parameter.split()[0]
        if kind == "RLRunLoopMode" and function.name == "RLRunLoopAddCommonMode":
            return "The name of a mode."
        if kind == "RLMessagePortRef" and name != "port":
            return f"The {name} port."
        if kind in PARAMETERS:
            return PARAMETERS[kind]
        noun = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", re.sub(r"^RL(Mutable)?(RunLoop)?|Ref$", "", kind)).lower()
        return f"{'A' if name[-1].isdigit() else 'The other' if name.startswith('other') else 'The'} {noun}."

    def parameters(self, functions, write):
        said = {}
        for function in functions:
            for name, text in self.described(function):
                said.setdefault(name, {}).setdefault(text, []).append(function.name)
        if not said:
            return []
        lines = [".Sh PARAMETERS", f".Bl -tag -width {max(map(len, said)) + 1}n"]
        for name, texts in said.items():
            lines.append(f".It Fa {name}")
            for number, (text, users) in enumerate(texts.items()):
                if len(texts) > 1:
                    lines += [".Pp"] * (number > 0) + self.subject(users)
                lines += write.text(text if len(texts) > 1 else upper_first(text))
        return lines + [".El"]

    @staticmethod
    def subject(names):
        """"f(), g():" before text that applies to these functions."""
        return [f".Fn {name} ," for name in names[:-1]] + [f".Fn {names[-1]} :"]

    def types_used(self, page, functions, write):
        """Describes callbacks and structs on the first page of the chapter that uses them, and constants on every page."""
        used = [kind for function in functions for kind in function.types]
        lines = []
        for name in dict.fromkeys(used):
            first = next((other.names for other in page.chapter.pages for each in other.names if name in self.functions[each].types), None)
            if name in self.callbacks and first is page.names:
                lines += self.callback(self.callbacks[name], write)
            elif name in self.types and self.types[name].header in page.chapter.headers \
                    and (self.types[name].kind == "enum" or first is page.names):
                lines += self.type(self.types[name], write)
        for kind in (kind for header in page.chapter.headers for kind in self.headers[header].types):
            if any(name in page.constants for name, _ in kind.members):
                lines += self.type(kind, write)
        return [".Sh TYPES", *lines[lines[0] == ".Pp":]] if lines else []

    def callback(self, function, write):
        lines = [*write.literal([function.declaration]), ".Pp", *write.text(function.text)]
        if function.described:
            lines.append(f".Bl -tag -width {max(map(len, function.described)) + 1}n")
            for name, text in function.described.items():
                lines += [f".It Fa {name}", *write.text(upper_first(text))]
            lines.append(".El")
        return lines + (write.text("It returns " + function.returned) if function.returned else [])

    def type(self, kind, write):
        lines = [".Pp"]
        if kind.kind == "struct":
            lines = [*write.literal(kind.declaration.splitlines()), ".Pp"]
        lines += write.text(kind.text) if kind.kind == "struct" or not kind.name else [f".Vt {kind.name} :", *write.text(lower_first(kind.text))]
        macro = "Fa" if kind.kind == "struct" else "Dv"
        lines.append(f".Bl -tag -width {min(24, max(len(name) for name, _ in kind.members) + 1)}n")
        for name, text in kind.members:
            lines += [f".It {macro} {name}", *write.text(text)]
        return lines + [".El"]

    def returned(self, functions, write):
        merged, others = {}, []
        for function in functions:
            text = self.own_text(function)[1].returned
            if text:
                merged.setdefault(text, []).append(function.name)
            elif function.result != "void":
                others.append(function)
        lines = []
        for text, names in merged.items():
            verb = "returns" if len(names) == 1 else "return"
            lines += [".Pp", *listed([f"Fn {name}" for name in names]), *write.text(f"{verb} {text}")]
        for function in others:
            sentence = re.match(r"Returns (.*?[.:;](?= |$))", function.text)
            said = sentence[1][:-1] + "." if sentence else "the value described above."
            lines += [".Pp", f".Fn {function.name}", *write.text("returns " + said)]
        return [".Sh RETURN VALUES", *lines[1:]] if lines else []

    def errors(self, page, functions, write):
        said = {function.name: function.labels["Errors"] for function in functions if "Errors" in function.labels}
        texts = [*said.values(), *(function.text + self.own_text(function)[1].returned for function in functions)]
        numbers = {"EINVAL", *page.errors} | {name for text in texts for name in re.findall(r"\bE[A-Z]{3,}\b", text) if name in ERRORS}
        if any(re.search(r"Create|Copy", function.name) or re.search(r"\ballocat", function.labels.get("Cost", ""))
               for function in functions):
            numbers.add("ENOMEM")
        if not any(function.parameters for function in functions) and not said:
            return []
        if all(function.result == "void" for function in functions):
            lines = [".Sh ERRORS", "On misuse or failure,"]
        else:
            lines = [".Sh ERRORS", "On misuse or failure, the result is 0, false or", ".Dv NULL ,", "unless stated otherwise, and"]
        lines += [".Va errno", "is set as follows:", ".Bl -tag -width Er"]
        for name in sorted(numbers):
            lines += [f".It Bq Er {name}", *write.text(ERRORS[name])]
        lines.append(".El")
        for name, text in said.items():
            lines += [".Pp", f".Fn {name} :", *write.text(text)]
        return lines

    def ownership(self, functions, write):
        lines = []
        owned = [function.name for function in functions if re.search(r"Create|Copy", function.name) and function.result != "void"
                 and function.result.endswith(("Ref", "Mode"))]
        if owned:
            it = "it" if len(owned) == 1 else "them"
            lines += [".Pp", "The caller owns the result" + "s" * (len(owned) > 1) + " of", *listed([f"Fn {name}" for name in owned]),
                      f"and must release {it} with", f".{write.function('RLRelease')} ."]
        return self.labelled("OWNERSHIP", "Ownership", functions, write, lines)

    def threads(self, functions, write):
        """The promises of RLBase.h for all functions, and where these functions differ."""
        merged = {}
        for function in functions:
            said = [text for label in ("Thread", "Re-entrancy") if (text := function.labels.get(label))]
            if said:
                merged.setdefault(" ".join(upper_first(text) for text in said), []).append(function.name)
        lines = []
        for text, names in merged.items():
            if not any(function.labels.get("Thread") for function in functions if function.name in names):
                text = "Any thread. " + text
            lines += [".Pp", *(self.subject(names) if len(functions) > 1 else []), *write.text(text)]
        others = [function.name for function in functions if not any(function.name in names for names in merged.values())]
        if others:
            called = listed([f"Fn {name}" for name in others]) if merged else ["these functions" if len(functions) > 1 else "this function"]
            called[-1] += " ," if merged else ","
            lines += [".Pp", "Any thread may call", *called, "including from callbacks."]
            lines += ["They do not call back into the program." if len(others) > 1 else "It does not call back into the program."]
        return [".Sh THREADS", *lines[1:]]

    def names_in_cf(self, page):
        """The CoreFoundation names of the functions, for readers who looked up one of these."""
        names = [name for ours in page.names for name, alias in self.aliases.items() if alias == ours]
        if not names:
            return []
        return [".Sh COREFOUNDATION", f"The CoreFoundation name{'s' * (len(names) > 1)} for programs that include",
                ".In CoreFoundation/CoreFoundation.h", ".Pq see Xr runloop-porting 7 :",
                *(f".Fn {name} ," for name in names[:-1]), f".Fn {names[-1]} ."]

    def labelled(self, title, label, functions, write, lines=()):
        merged = {}
        for function in functions:
            if label in function.labels:
                merged.setdefault(function.labels[label], []).append(function.name)
        lines = list(lines)
        for text, names in merged.items():
            lines += [".Pp", *(self.subject(names) + write.text(text) if len(functions) > 1 else write.text(upper_first(text)))]
        return [f".Sh {title}", *lines[1:]] if lines else []

    # ---- Examples ----

    def example(self, page, functions):
        """An excerpt of a program that the header names: its function that uses the most functions of the page."""
        found = []
        own = [path for function in functions for path in re.findall(r"examples/[\w/-]+\.c", function.labels.get("Example", ""))]
        paths = dict.fromkeys(own + [path for name in page.chapter.headers for path in self.headers[name].examples])
        for path in [other for path in paths for other in self.neighbours(path)]:
            for start, body in self.bodies((ROOT / path).read_text()):
                used = [name for name in page.names if any(re.search(rf"\b{name}\(", line) for line in body)]
                if used:
                    weight = (page.name in used, len(body) <= 24, len(used), -abs(len(body) - 12))
                    found.append((weight, path, self.cut(body, used)))
        _, path, body = max(found, key=lambda each: each[0])
        return [".Sh EXAMPLES", "From", f".Pa share/doc/runloop/{path} :", *Writer(self.page_of).literal(body)]

    @staticmethod
    def neighbours(path):
        """The files of the program: one file, or those of a folder."""
        files = [ROOT / path] if path.count("/") == 1 else sorted((ROOT / path).parent.glob("*.c"))
        return [file.relative_to(ROOT).as_posix() for file in files]

    @staticmethod
    def bodies(source):
        """The functions of a program, with the line on which each begins."""
        lines = source.splitlines()
        for start, line in enumerate(lines):
            if line == "{":
                first = start
                while first > 0 and lines[first - 1].strip() and not re.match(r".*[;}]$|.*\*/$|#", lines[first - 1]):
                    first -= 1
                end = lines.index("}", start)
                yield first, lines[first:end + 1]

    @staticmethod
    def cut(body, used):
        """Cuts a long function to the part with the most uses, with an ellipsis for each omitted part."""
        if len(body) <= LONGEST:
            return body
        hits = [number for number, line in enumerate(body) if any(re.search(rf"\b{name}\(", line) for name in used)]
        best = max(hits, key=lambda hit: (sum(hit <= other < hit + LONGEST - 8 for other in hits), -hit))
        first, last = max(0, best - 4), min(len(body), best + LONGEST - 8)
        return (["\u2026"] if first else []) + body[first:last] + (["\u2026"] if last < len(body) else [])

    # ---- What follows ----

    def see_also(self, page, write):
        names = {(other.name, 3) for other in page.chapter.pages if other is not page} | write.references
        kinds = {parameter.split()[0] for name in page.names for parameter in self.functions[name].parameters}
        for origin in (self.origins[kind] for kind in kinds & self.origins.keys()):
            if origin.chapter.name not in EVERYWHERE:
                names |= {(origin.name, 3), (origin.chapter.name, 7)}
        if page.chapter.name == "runloop" and "RLRunLoopMode" in kinds:
            names.add(("runloop-modes", 7))
        names |= {(page.chapter.name, 7), ("runloop", 7), ("runloop-objects", 7)}
        names.discard((page.name, 3))
        return [".Sh SEE ALSO", *self.references(names)]

    @staticmethod
    def references(names):
        ordered = sorted(names, key=lambda each: (each[1], each[0].lower()))
        return [f".Xr {name} {section}" + (" ," if (name, section) != ordered[-1] else "") for name, section in ordered]

    # ---- A page of section 7 ----

    def brief(self, chapter):
        """The subject of the chapter, as its header describes it."""
        return lower_first(self.headers[chapter.headers[0]].brief.rstrip("."))

    def of_chapter(self, chapter):
        headers = [self.headers[name] for name in chapter.headers]
        write = Writer(lambda name: None if name in chapter.headers else self.page_of(name))
        lines = self.head(chapter.name, 7, [chapter.name], self.brief(chapter))
        lines += [".Sh SYNOPSIS", *(f".In {header.folder}/{header.name}" for header in headers), ".Sh DESCRIPTION"]
        differences = []
        for number, header in enumerate(headers):
            if number:
                lines += [f".Ss {upper_first(header.brief.partition(':')[0])}"]
            intro = write.blocks(header.intro)
            lines += intro[intro[:1] == [".Pp"]:]
            for title, text in header.chapters:
                if re.match(r"(Deliberate )?[Dd]ifference", title):
                    differences += write.blocks(text)
                else:
                    said = write.blocks(text)
                    lines += [f".Ss {title}", *said[said[:1] == [".Pp"]:]]
        if chapter.name == "runloop":
            lines += [".Sh PAGES BY SUBJECT", ".Bl -tag -width Ds"]
            for other in self.chapters:
                if other is not chapter:
                    lines += [f".It Xr {other.name} 7", *write.text(self.headers[other.headers[0]].brief)]
            for name, (_, said) in DOCUMENTS.items():
                lines += [f".It Xr {name} 7", *write.text(said)]
            lines += [".It Xr runloop 1", "The command: traces, explanations and statistics of programs.", ".El"]
        lines += [".Sh FUNCTIONS", ".Bl -tag -width Ds"]
        for page in chapter.pages:
            lines += [f".It Xr {page.name} 3", *write.text(upper_first(page.brief) + ".")]
            if len(page.names) > 1:
                lines += ["Also", *listed([f"Fn {name}" for name in page.names[1:]])]
                lines[-1] += " ."
        lines.append(".El")
        lines += self.values(headers, write)
        if differences:
            lines += [".Sh DIFFERENCES FROM COREFOUNDATION", *differences[differences[:1] == [".Pp"]:]]
        examples = list(dict.fromkeys(path for header in headers for path in header.examples))
        if chapter.name == "runloop":
            lines += [".Sh EXAMPLES", "A timer that ticks three times:", *write.literal((ROOT / "examples/hello.c").read_text().splitlines()),
                      ".Pp", "To compile it:", *write.literal(["cc hello.c -o hello $(pkg-config --cflags --libs runloop)"])]
            lines += [".Pp", "More programs, in", ".Pa share/doc/runloop :", *(f".Pa {path} ," for path in examples[:-1]),
                      f".Pa {examples[-1]}"]
        elif examples:
            lines += [".Sh EXAMPLES", "In", ".Pa share/doc/runloop :", *(f".Pa {path} ," for path in examples[:-1]), f".Pa {examples[-1]}"]
        names = ({("runloop", 7), ("runloop-objects", 7)} | write.references) - {(chapter.name, 7)}
        return lines + [".Sh SEE ALSO", *self.references(names)]

    def values(self, headers, write):
        """Types, constants and macros."""
        lines = []
        for header in headers:
            plain = [kind for kind in header.types if kind.kind == "other"]
            if plain:
                lines += [".Bl -tag -width Ds"]
                for kind in plain:
                    lines += [f".It Vt {kind.name}", *write.text(kind.text)]
                lines += [".El"]
            for kind in header.types:
                if kind.kind == "enum":
                    lines += self.type(kind, write)
                elif kind.kind == "struct" and not any(kind.name in function.types for function in header.functions):
                    lines += self.type(kind, write)
            if header.constants:
                lines += [".Pp", "Constants and macros:", ".Bl -tag -width Ds"]
                for name, text in header.constants:
                    lines += [f".It Dv {name}", *write.text(text)]
                lines += [".El"]
        return [".Sh TYPES AND CONSTANTS", *(lines[1:] if lines[0] == ".Pp" else lines)] if lines else []

    # ---- A page of section 7 that is a document ----

    def of_document(self, name, path, brief):
        write = Writer(self.page_of)
        text = path.read_text().partition("\n")[2]
        body = write.markdown(re.sub(r"^!\[[^\]]*\]\([^)]*\)\n|^Next: .*\n", "", text, flags=re.MULTILINE))  # no pictures, no next chapter
        return [*self.head(name, 7, [name], lower_first(brief.rstrip("."))), ".Sh DESCRIPTION", *body[body[:1] == [".Pp"]:],
                ".Sh SEE ALSO", *self.references(write.references | {("runloop", 7)})]

    # ---- All of them ----

    def write(self, directory):
        """Writes the pages, and a symbolic link for each further name of a page."""
        files = {}
        for chapter in self.chapters:
            files[f"man7/{chapter.name}.7"] = self.of_chapter(chapter)
            for page in chapter.pages:
                files[f"man3/{page.name}.3"] = self.of_functions(page)
        for name, (document, said) in DOCUMENTS.items():
            files[f"man7/{name}.7"] = self.of_document(name, ROOT / document, said)
        for name, lines in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self.place(path, lambda new: new.write_text("\n".join(lines) + "\n"))
        links = {f"man3/{name}.3": f"{page.name}.3" for name, page in self.pages.items() if name != page.name}
        links |= {f"man3/{name}.3": f"{self.pages[ours].name}.3" for name, ours in self.aliases.items()}
        for name, target in links.items():
            self.place(directory / name, lambda new: new.symlink_to(target))
        current = {*files, *links}
        for path in directory.glob("man?/*.[37]"):
            if path.relative_to(directory).as_posix() not in current:
                path.unlink(missing_ok=True)

    @staticmethod
    def place(path, make):
        """Replaces the file atomically, because two processes may be writing the pages."""
        new = path.with_name(f"{path.name}.{os.getpid()}")
        make(new)
        new.replace(path)


if __name__ == "__main__":
    Manual().write(pathlib.Path(sys.argv[1]))
