"""Reads regex-normalize.xml, Nutch's format, without entities or a document type: an XML
file must not be able to open other files or to grow without end."""

from __future__ import annotations

from xml.parsers import expat

from crawl.plugins.urlnormalizer.substitution import Substitution
from crawl.urls.rule_lines import RuleLine

_ROOT, _RULE, _PATTERN, _SUBSTITUTION = "regex-normalize", "regex", "pattern", "substitution"
_PARENT = {_ROOT: None, _RULE: _ROOT, _PATTERN: _RULE, _SUBSTITUTION: _RULE}


def read_rules(source: str, text: str) -> tuple[Substitution, ...]:
    """The rules in order; ConfigError with the line of what is wrong."""
    reader = _Reader(source)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, _: reader.start(name, parser.CurrentLineNumber)
    parser.EndElementHandler = lambda name: reader.end(name, parser.CurrentLineNumber)
    parser.CharacterDataHandler = lambda data: reader.data(data, parser.CurrentLineNumber)
    parser.StartDoctypeDeclHandler = lambda *_: reader.doctype(parser.CurrentLineNumber)
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        problem = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise RuleLine(source, error.lineno, "").wrong(problem) from None
    return tuple(reader.rules)


class _Reader:
    """Collects one `regex` element after the other."""

    def __init__(self, source: str) -> None:
        self.rules: list[Substitution] = []
        self._source = source
        self._open: list[str] = []
        self._texts: dict[str, str] = {}
        self._started = 0

    def start(self, name: str, line: int) -> None:
        parent = self._open[-1] if self._open else None
        if name not in _PARENT or _PARENT[name] != parent:
            raise self._at(line).wrong(f"<{name}> does not belong here")
        if name in self._texts:
            raise self._at(line).wrong(f"a second <{name}> in one <{_RULE}>")
        self._open.append(name)
        if name == _RULE:
            self._started = line
            self._texts = {}
        elif name != _ROOT:
            self._texts[name] = ""

    def data(self, data: str, line: int) -> None:
        innermost = self._open[-1]
        if innermost in (_PATTERN, _SUBSTITUTION):
            self._texts[innermost] += data
        elif data.strip():
            raise self._at(line).wrong(f"text outside of <{_PATTERN}> and <{_SUBSTITUTION}>")

    def end(self, name: str, line: int) -> None:
        self._open.pop()
        if name != _RULE:
            return
        place = self._at(self._started)
        if _PATTERN not in self._texts:
            raise place.wrong(f"a <{_RULE}> without a <{_PATTERN}>")
        pattern = place.compile(self._texts[_PATTERN])
        try:
            rule = Substitution.of(pattern, self._texts.get(_SUBSTITUTION, ""))
        except ValueError as error:
            raise place.wrong(str(error)) from None
        self.rules.append(rule)
        self._texts = {}

    def doctype(self, line: int) -> None:
        raise self._at(line).wrong("a document type (and so any entity) is not allowed")

    def _at(self, line: int) -> RuleLine:
        return RuleLine(self._source, line, "")
