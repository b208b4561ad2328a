"""The site is complete: every link leads to an existing page and anchor, and nothing on it needs the network or a script."""

import html.parser
import os
import posixpath
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from public_headers import ROOT

sys.path.insert(0, str(ROOT / "docs/man"))
from man import Manual  # noqa: E402

#: Elements without an end tag.
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(html.parser.HTMLParser):
    """A page's links, its anchors, and its errors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places, self.loaded, self.pictures, self.open, self.faults, self.headings = [], [], [], [], [], [], []
        self.feed(text)
        self.faults += [f"<{tag}> is not closed" for tag in self.open if tag not in ("p", "dd", "dt", "li", "td", "tr", "th")]

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.places.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if "a" in self.open:
                self.faults.append(f"a link in a link: {values['href']}")
        if tag in ("img", "script", "iframe", "link"):
            self.loaded.append((tag, values.get("src") or values.get("href")))
        if tag == "img":
            self.pictures.append(values.get("alt", ""))
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass
        elif tag not in VOID | {"p"}:
            self.faults.append(f"</{tag}> closes nothing")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Returns the pages by address, and the folder that contains them."""
    directory = tmp_path_factory.mktemp("site")
    Manual().write(directory / "man")
    subprocess.run([sys.executable, "-B", ROOT / "docs/site/site.py", directory / "man", directory / "site"], check=True)
    found = sorted((directory / "site").rglob("*.html"))
    return {path.relative_to(directory / "site").as_posix(): Page(path.read_text()) for path in found}, directory / "site"


def test_every_link_leads_somewhere(site):
    pages, directory = site
    lost = []
    for name, page in pages.items():
        for link in page.links:
            if re.match(r"https?:", link):
                continue
            address, _, place = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address)) if address else name
            if not (directory / target).is_file() or place and place not in pages[target].places:
                lost.append(f"{name}: {link}")
    assert lost == []


def test_pages_are_well_formed(site):
    pages, _ = site
    assert {name: page.faults for name, page in pages.items() if page.faults} == {}
    assert [name for name, page in pages.items() if len(page.places) != len(set(page.places))] == []
    assert [name for name, page in pages.items() if page.headings.count(1) != 1] == []
    assert [name for name, page in pages.items() if not all(page.pictures)] == []


def test_nothing_is_loaded_but_its_own_style_and_pictures(site):
    pages, directory = site
    for name, page in pages.items():
        for tag, address in page.loaded:
            assert tag in ("img", "link") and (directory / posixpath.dirname(name) / address).is_file(), f"{name}: {address}"
    style = (directory / "style.css").read_text()
    assert "prefers-color-scheme: dark" in style and not re.search(r"url\(|@import", style)
    for path in directory.rglob("*.svg"):
        assert not re.search(r"<script|<image|href=|@import", path.read_text()), path.name


def test_every_page_can_be_reached_from_the_first(site):
    pages, _ = site
    reached, waiting = {"index.html"}, ["index.html"]
    while waiting:
        name = waiting.pop()
        for link in pages[name].links:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link.partition("#")[0]))
            if target in pages and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert set(pages) - reached == set()


def test_every_chapter_function_and_subject_is_there(site):
    pages, directory = site
    for chapter in (ROOT / "docs/guide").glob("*-*.md"):
        assert f"guide/{chapter.stem}.html" in pages
    index = (directory / "reference/index.html").read_text()
    manual = Manual()
    for name in [*manual.pages, *manual.aliases, *(chapter.name for chapter in manual.chapters)]:
        assert f">{name}<" in index, name


def test_functions_in_a_listing_lead_to_their_pages(site):
    pages, directory = site
    text = (directory / "guide/04-timers.html").read_text()
    assert '<a href="../reference/RLRunLoopAddTimer.3.html#RLRunLoopAddTimer">RLRunLoopAddTimer</a>(loop, heart' in text


def test_make_site_writes_it(tmp_path):
    """Runs the command as make would: the rule names the script and what it reads."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    said = subprocess.run(["make", "-n", "site"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert "docs/site/site.py" in said and said.rstrip().endswith("build/site")


def test_pictures_are_well_formed():
    for path in (ROOT / "docs/guide/pictures").iterdir():
        assert xml.etree.ElementTree.parse(path).getroot().tag.endswith("}svg"), path.name
        assert "prefers-color-scheme: dark" in path.read_text(), path.name
