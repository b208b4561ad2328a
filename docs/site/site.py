"""Generates the site: site.py MANUAL DIRECTORY. The guide, the documents and the list of examples are Markdown (cmark-gfm); the
reference consists of the manual pages in MANUAL (mandoc). Links between them become links between pages; links to anything that is
not on the site become text."""

import html
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs/man"))
from man import Manual, upper_first, version  # noqa: E402

#: A Markdown file → its page, in reading order, and its word in the bar at the top of each page.
DOCUMENTS = {"README.md": ("index.html", "librunloop"), "docs/guide/README.md": ("guide/index.html", "Guide"),
             "examples/README.md": ("examples/index.html", "Examples"), "docs/SEMANTICS.md": ("semantics.html", "Rules"),
             "docs/PORTING.md": ("porting.html", "Porting"), "docs/DEBUGGING.md": ("debugging.html", "Debugging"),
             "docs/PERFORMANCE.md": ("performance.html", "Performance"), "docs/DESIGN.md": ("design.html", "Design")}
BAR = ["README.md", "docs/guide/README.md", None, *list(DOCUMENTS)[2:]]  # None: the reference
FUNCTION = r"\b(?:RL|CF)[A-Z]\w+"


def slug(heading):
    """The anchor of a heading, computed as GitHub does."""
    return re.sub(r"[^\w -]", "", html.unescape(re.sub(r"<[^>]*>", "", heading))).strip().lower().replace(" ", "-")


def sentence(text):
    return html.escape(upper_first(text), quote=False)


def run(*command, text=""):
    return subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True, check=True).stdout


class Site:
    def __init__(self, pages, directory):
        self.pages, self.directory, self.manual = pages, directory, Manual()
        self.files = {source: page for source, (page, _) in DOCUMENTS.items()}
        for chapter in sorted((ROOT / "docs/guide").glob("[0-9]*.md")):
            self.files[chapter.relative_to(ROOT).as_posix()] = f"guide/{chapter.stem}.html"
        for source in sorted((ROOT / "examples").rglob("*.[ch]")):
            self.files[source.relative_to(ROOT).as_posix()] = source.relative_to(ROOT).as_posix() + ".html"
        for folder in {source.parent for source in (ROOT / "examples").glob("*/*.c")}:
            name = folder.relative_to(ROOT).as_posix()
            self.files[name] = next(f"{name}/{first}.html" for first in ("main.c", "server.c") if (folder / first).exists())
        for name, header in self.manual.headers.items():
            page, section = self.manual.page_of(name)
            self.files[f"include/{header.folder}/{name}"] = f"reference/{page}.{section}.html"
            self.files[f"include/{header.folder}"] = self.files[f"include/{header.folder}/{header.folder}.h"] = "reference/index.html"
        #: The name and section of each manual page, including aliases → the page of the site that has it.
        self.references = {path.name: (path.resolve() if path.is_symlink() else path).name + ".html"
                           for path in sorted(pages.glob("man?/*.[1-8]"))}

    def reference(self, name, section, at):
        """The address of a manual page relative to the page `at`, with an anchor if `name` is a function."""
        page = self.references.get(f"{name}.{section}")
        if not page:
            return None
        ours = self.manual.aliases.get(name, name)
        anchor = f"#{ours}" if ours in self.manual.pages else ""
        return posixpath.relpath(f"reference/{page}", posixpath.dirname(at)) + anchor

    # ---- Links ----

    def document_link(self, source, at):
        """Redirects a link in a Markdown file to the page of its target; removes the link if the target has no page."""
        def replaced(match):
            target, _, anchor = html.unescape(match[1]).partition("#")
            if re.match(r"[a-z]+:", target):
                return match[0]
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target)) if target else source
            page = self.files.get(path.rstrip("/"))
            if not page:
                return match[2]
            address = posixpath.relpath(page, posixpath.dirname(at)) if page != at else ""
            return f'<a href="{address}{"#" if anchor else ""}{anchor}">{match[2]}</a>'
        return replaced

    def name_links(self, text, at):
        """Links functions in code, and names such as runloop-timer(7), to their pages."""
        def function(match):
            address = self.reference(match[0], 3, at)
            return f'<a href="{address}">{match[0]}</a>' if address else match[0]

        def code(match):
            return match[1] + re.sub(rf"{FUNCTION}(?=\()", function, match[2]) + match[3]

        def page(match):
            address = self.reference(match[1], match[2], at)
            return f'<a href="{address}">{match[0]}</a>' if address else match[0]

        text = re.sub(r"(?<![\w/>\"])(runloop[a-z-]*)\(([137])\)", page, text)
        return re.sub(r'(<code(?: class="language-c")?>)(.*?)(</code>)', code, text, flags=re.DOTALL)

    # ---- Pages ----

    def write(self, page, title, body, source=None):
        """Writes a page: the bar, the body, and the version at the bottom."""
        def entry(document):
            name, word = ("reference/index.html", "Reference") if document is None else DOCUMENTS[document]
            here = ' aria-current="page"' if posixpath.dirname(name) and page.startswith(posixpath.dirname(name)) or name == page else ""
            return f'<a href="{posixpath.relpath(name, posixpath.dirname(page))}"{here}>{word}</a>'

        style = posixpath.relpath("style.css", posixpath.dirname(page))
        title = title if title.startswith("librunloop") else f"{title} - librunloop"
        path = self.directory / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'''<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav>
{chr(10).join(entry(document) for document in BAR)}
</nav>
<main>
{body.strip()}
</main>
<footer>librunloop {version()}</footer>
</body>
</html>
''')

    def markdown(self, source):
        """Writes the page of a document."""
        page, text = self.files[source], (ROOT / source).read_text()
        body = re.sub(r"<!--.*?-->\n", "", run("cmark-gfm", "--unsafe", "-e", "table", "-t", "html", text=text), flags=re.DOTALL)
        body = re.sub(r"<h(\d)>(.*?)</h\1>", lambda match: f'<h{match[1]} id="{slug(match[2])}">{match[2]}</h{match[1]}>', body)
        body = self.name_links(body, page)  # before the links, so that names within links are not linked again
        body = re.sub(r'<a href="([^"]*\.(?:md|c|h|py|swift)(?:#[^"]*)?|[^"#:]*|#[^"]*)">((?:(?!</?a\b).)*)</a>',
                      self.document_link(source, page), body, flags=re.DOTALL)
        body = re.sub(r'<p>(<img [^>]*>)</p>', r"<figure>\1</figure>", body)
        body = re.sub(r"(<table>.*?</table>)", r'<div class="wide">\1</div>', body, flags=re.DOTALL)
        title = html.unescape(re.search(r"<h1[^>]*>(.*?)</h1>", body)[1])
        self.write(page, title, body)

    def example(self, source):
        """Writes the page of a program's source, with links to the other files in its folder."""
        page, path = self.files[source], ROOT / source
        code = f'<pre><code class="language-c">{html.escape(path.read_text(), quote=False)}</code></pre>'
        others = [] if path.parent.name == "examples" else sorted(path.parent.glob("*.[ch]"))
        listed = " ".join(f"<strong>{other.name}</strong>" if other == path else f'<a href="{other.name}.html">{other.name}</a>'
                          for other in others)
        self.write(page, path.name, f"<h1>{source}</h1>\n" + (f"<p>{listed}</p>\n" if listed else "") + self.name_links(code, page))

    def manual_page(self, path):
        """Writes a manual page, with links only to pages of this library and to the examples that it names."""
        page = f"reference/{path.name}.html"
        text = run("mandoc", "-T", "html", "-O", "fragment,man=%N.%S", path)
        text = re.sub(r'<table class="(?:head|foot)">.*?</table>', "", text, flags=re.DOTALL)
        text = re.sub(r"(</?)h([12])\b", lambda match: f"{match[1]}h{int(match[2]) + 1}", text)

        def page_link(match):
            name, section = match[1].rsplit(".", 1)
            address = self.reference(name, section, page)
            return f'<a class="Xr" href="{address}">{match[2]}</a>' if address else match[2]

        def file_link(match):
            target = self.files.get(match[1])
            return f'<a href="{posixpath.relpath(target, "reference")}">{match[1]}</a>' if target else match[0]

        text = re.sub(r'<a class="Xr" href="([^"]*)">(.*?)</a>', page_link, text, flags=re.DOTALL)
        text = re.sub(r'<span class="Pa">(?:share/doc/runloop/)?([\w./-]+)</span>', file_link, text)
        self.write(page, path.stem, f"<h1>{path.stem}({path.suffix[1:]})</h1>\n{text}")

    def index(self):
        """Writes the first page of the reference: each subject with its functions, the other pages, and CoreFoundation's names."""
        def link(name, section, word):
            return f'<a href="{self.reference(name, section, "reference/index.html")}">{word}</a>'

        parts = ["<h1>Reference</h1>", "<p>There is a page for each subject and one for each group of functions. They are installed as manual pages: "
                 "<code>man 7 runloop</code>, <code>man RLRunLoopRun</code>.</p>"]
        subjects = " · ".join(f'<a href="#{chapter.name}">{chapter.name.removeprefix("runloop-")}</a>' for chapter in self.manual.chapters)
        parts.append(f"<p>{subjects}</p>")
        for chapter in self.manual.chapters:
            parts.append(f'<h2 id="{chapter.name}">{link(chapter.name, 7, chapter.name)}</h2>\n<p>{sentence(self.manual.headers[chapter.headers[0]].brief)}</p>\n<dl>')
            for page in chapter.pages:
                names = ", ".join(link(name, 3, f"<code>{name}</code>") for name in page.names)
                parts.append(f"<dt>{sentence(page.brief)}</dt><dd>{names}</dd>")
            parts.append("</dl>")
        subjects = {f"{chapter.name}.7" for chapter in self.manual.chapters}
        others = [path for path in self.originals() if not path.name.endswith(".3") and path.name not in subjects]
        others += [path for path in self.originals() if path.name.endswith(".3") and path.stem not in self.manual.pages]
        if others:
            links = ", ".join(link(path.stem, path.suffix[1:], f"{path.stem}({path.suffix[1:]})") for path in others)
            parts.append(f'<h2 id="more-pages">More pages</h2>\n<p>{links}</p>')
        names = ", ".join(link(name, 3, f"<code>{name}</code>") for name in sorted(self.manual.aliases) if f"{name}.3" in self.references)
        parts.append(f'<h2 id="corefoundation-names">CoreFoundation names</h2>\n<p>{names}</p>')
        self.write("reference/index.html", "Reference", "\n".join(parts))

    def originals(self):
        return [path for path in sorted(self.pages.glob("man?/*.[1-8]")) if not path.is_symlink()]

    def make(self):
        for source, page in list(self.files.items()):
            if source.endswith(".md"):
                self.markdown(source)
            elif source.startswith("examples/") and source.endswith((".c", ".h")):
                self.example(source)
        for path in self.originals():
            self.manual_page(path)
        self.index()
        shutil.copy(HERE / "style.css", self.directory)
        shutil.copytree(ROOT / "docs/guide/pictures", self.directory / "guide/pictures", dirs_exist_ok=True)
        shutil.copytree(ROOT / "docs/debugging", self.directory / "debugging", ignore=shutil.ignore_patterns("*.py", "__pycache__"))


if __name__ == "__main__":
    Site(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:3])).make()
