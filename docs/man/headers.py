"""Parses the public headers: functions with the parts of their comments, types, constants, and the introductory texts."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
LABELS = ["Ownership", "Thread", "Re-entrancy", "Errors", "Cost", "Since", "Example"]


@dataclasses.dataclass
class Function:
    """A function or a function type. `text` and the values of `labels` are one paragraph each."""
    name: str
    result: str
    parameters: list  # of declarations
    header: str
    declaration: str
    is_block: bool = False
    text: str = ""
    described: dict = dataclasses.field(default_factory=dict)
    returned: str = ""
    labels: dict = dataclasses.field(default_factory=dict)

    @property
    def types(self):
        """The types that the declaration names."""
        return re.findall(r"\bRL\w+", " ".join([self.result, *self.parameters]))


@dataclasses.dataclass
class Type:
    """A struct with its fields, a set of constants with their names, or another type without members."""
    name: str
    header: str
    declaration: str
    text: str
    members: list = dataclasses.field(default_factory=list)  # of (name, text)
    kind: str = "other"


def words(text):
    return re.sub(r"\s+", " ", text).strip()


def comment_lines(comment):
    """The lines of a comment without its frame. Indentation is counted from the second blank after the asterisk."""
    lines = comment.split("\n")
    return [lines[0].strip()] + [re.sub(r"^\s*\*(?: {1,2}|$)", "", line) for line in lines[1:]]


def split_at_commas(text):
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [words(part) for part in parts]


def name_of(parameter):
    """The name in a declaration, including that of a block or a function pointer."""
    match = re.search(r"\([\^*](\w+)\)", parameter) or re.search(r"(\w+)(?:\[\w*\])?$", parameter)
    return match[1]


def take_apart(function, comment):
    """Stores the parts of a function's comment in `function`."""
    text = "\n".join(comment_lines(comment))
    pattern = rf"(?:^|\s)(@param +\w+|@return|(?:{'|'.join(LABELS)}):)(?=\s)"
    parts = re.split(pattern, text)
    function.text = words(parts[0])
    for key, said in zip(parts[1::2], parts[2::2]):
        if key.startswith("@param"):
            function.described[key.split()[1]] = words(said)
        elif key == "@return":
            function.returned = words(said)
        else:
            function.labels[key[:-1]] = words(said)
    return function


def function_from(declaration, comment, header, is_block):
    """Parses `RL_EXPORT result name(parameters)` or `typedef result (*name)(parameters)`."""
    text = re.sub(r"\s*__attribute__\(\(.*?\)\)\)?|\s*RL_\w+\(\d.*\)$", "", words(declaration))
    match = re.match(r"typedef\s+(.*?)\(\*(RL\w+)\)\((.*)\)$", text) or \
        re.match(r"(?:RL_EXPORT|static inline)\s+(.*?)\b(RL\w+)\((.*)\)$", text)
    parameters = [] if match[3] in ("", "void") else split_at_commas(match[3])
    return take_apart(Function(match[2], match[1].strip(), parameters, header, text + ";", is_block), comment)


def members_of(body):
    """The fields of a struct or the constants of an enumeration, each with a comment above or behind it."""
    found = []
    pattern = r"/\*\*(?!<)(.*?)\*/\s*([^;,/]*(?:\([^;]*\))?[^;,/]*)[;,]?|([^;,/{}]+?)[;,]?\s*/\*\*<(.*?)\*/"
    for above, below, before, behind in re.findall(pattern, body, re.DOTALL):
        declaration, said = (below, above) if below.strip() else (before, behind)
        declaration = words(declaration)
        name = re.match(r"(kRL\w+)", declaration)
        found.append((name[1] if name else name_of(declaration), words(" ".join(comment_lines(said)))))
    return found


def without_comments(text):
    text = re.sub(r"\s*/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\n\s*\n", "\n", text).strip()


class Header:
    """A header: `brief`, `intro` and `chapters` of its introduction, `examples`, `functions`, `callbacks`, `types`, `constants`."""

    def __init__(self, name):
        self.name = name
        self.folder = next(folder for folder in ("RunLoop", "RunLoopKit", "RunLoopTrace") if (INCLUDE / folder / name).exists())
        self.source = (INCLUDE / self.folder / name).read_text()
        self.functions, self.callbacks, self.types, self.constants = [], [], [], []
        self.read_head()
        self.read_declarations()

    def read_head(self):
        head = comment_lines(re.match(r"/\*\*(.*?)\s*\*/", self.source, re.DOTALL)[1])[1:]
        first, lines = [], head[:]
        while lines and lines[0].strip():
            first.append(lines.pop(0))
        summary, _, examples = "\n".join(first).partition("Example")
        self.brief = words(summary)
        self.examples = re.findall(r"examples/[\w/-]+\.c", examples)
        self.intro, self.chapters = [], []
        current = self.intro
        for number, line in enumerate(lines):
            if re.fullmatch(r"-{3,}", line):
                continue
            if number + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[number + 1]):
                current = []
                self.chapters.append((line, current))
            else:
                current.append(line)

    def read_declarations(self):
        blocks = self.source.find("#if defined(__BLOCKS__)")
        body = self.source[self.source.index("#ifndef"):]
        offset = self.source.index("#ifndef")
        for match in re.finditer(r"^/\*\*((?:(?!\*/).)*)\*/\n(?=(\S.*))", body, re.DOTALL | re.MULTILINE):
            comment, rest = match[1], body[match.end():]
            is_block = 0 <= blocks < match.start() + offset
            if comment.strip().startswith("Internal:") or re.match(r"extern void _?\*?_Block", rest):
                continue
            self.read_declaration(comment, rest, is_block)
        for declaration, said in re.findall(r"^RL_EXPORT (const [^;()]*);\s*/\*\*< (.*?) ?\*/", body, re.MULTILINE | re.DOTALL):
            self.constants.append((declaration.split()[-1], words(" ".join(comment_lines(said)))))

    def read_declaration(self, comment, rest, is_block):
        said = words(" ".join(comment_lines(comment)))
        if rest.startswith("#define"):
            self.constants.append((re.match(r"#define (\w+(?:\([^)]*\))?)", rest)[1], said))
        elif rest.startswith("static inline"):
            self.functions.append(function_from(rest[:re.search(r"\)\s*\{", rest).start() + 1], comment, self.name, is_block))
        elif re.match(r"RL_EXPORT const [^;(]*;", rest):
            self.constants.append((re.match(r"RL_EXPORT [^;]*?(\w+);", rest)[1], said))
        elif rest.startswith("RL_EXPORT"):
            self.functions.append(function_from(rest[:rest.index(";")], comment, self.name, is_block))
        elif re.match(r"typedef [^;{]*\(\*RL\w+\)\(", rest):
            self.callbacks.append(function_from(rest[:rest.index(";")], comment, self.name, is_block))
        elif re.match(r"(typedef )?(struct|union|enum)\b[^;]*?\{", rest):
            end = re.search(r"\}[^;]*;", rest).end()
            name = re.search(r"\}\s*(\w*)\s*;$", rest[:end])[1]
            body = rest[rest.index("{") + 1:rest[:end].rindex("}")]
            kind = "struct" if "struct" in rest[:rest.index("{")] else "enum"
            self.types.append(Type(name, self.name, without_comments(rest[:end]), said, members_of(body), kind))
        elif rest.startswith("typedef"):
            declaration = rest[:rest.index(";") + 1]
            self.types.append(Type(re.search(r"(\w+);$", declaration)[1], self.name, words(declaration), said))
