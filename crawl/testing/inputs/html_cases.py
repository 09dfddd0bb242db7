"""Pieces of HTML and what is to be found in each, by what is looked for."""

from __future__ import annotations

from crawl.model.parse import Refresh

PAGE = "http://example.com/dir/page.html?q=1"
HERE = "http://example.com"


TITLES = {
    "<title>A title</title>": "A title",
    "<title>\n A\t  title\n</title>": "A title",
    "<title>first</title><title>second</title>": "first",
    "<title> </title><title>second</title>": "second",
    "<title>&lt;b&gt; &amp; more</title>": "<b> & more",
    "<title>not <b>markup</b></title>": "not <b>markup</b>",
    "<body><p>x</p><title>late</title>": "late",
    "<svg><title>drawing</title></svg>": "",
    "<svg><title>drawing</title></svg><title>page</title>": "page",
    "<TITLE>Größe</TITLE>": "Größe",
    "no title": "",
    "<title>never ends": "never ends",
}

TEXTS = {
    "": "",
    "word": "word",
    "<p>one</p><p>two</p>": "one\ntwo",
    "<p>one<p>two": "one\ntwo",
    "<p>one <b>two</b>, th<i>re</i>e</p>": "one two, three",
    "one\n  two\t three\xa0\xa0four": "one two three four",
    "one<br>two<br/><br/>three<hr>four": "one\ntwo\nthree\nfour",
    "<div>one<div>two</div>three</div>four": "one\ntwo\nthree\nfour",
    "<ul><li>one<li>two<ul><li>three</ul></ul>": "one\ntwo\nthree",
    "<table><tr><td>1</td><td>2</td></tr><tr><th>3<td>4</table>": "1 2\n3 4",
    "<dl><dt>term<dd>text</dl>": "term\ntext",
    "<h1>head</h1>text": "head\ntext",
    "<pre>a  b\nc</pre>": "a b c",
    "one<script>var x = '<p>no</p>';</script>two": "onetwo",
    "one<style>p { color: red }</style>two": "onetwo",
    "one<template><p>no</p></template>two": "onetwo",
    "one<!-- no --><!-- > -->two": "onetwo",
    "one<noscript> yes </noscript>two": "one yes two",
    "one<iframe src=x>no</iframe>two": "onetwo",
    "<title>no</title>yes": "yes",
    "<svg><title>no</title><desc>no</desc><text>yes</text></svg>": "yes",
    "<video>no<source src=x></video><audio>no</audio><canvas>no</canvas>yes": "yes",
    "<div hidden>no <b>no</b></div>yes": "yes",
    "<p>one<span hidden=''>no</span>two": "onetwo",
    "<div hidden>no<div hidden>no</div>no</div>yes": "yes",
    "<input hidden>yes<br hidden>yes": "yes\nyes",
    "<p aria-hidden=true class=hidden>yes": "yes",
    "<datalist><option>no</datalist><select><option>1<option>2</select>": "1\n2",
    "<textarea>\n<p>as written</textarea>": "<p>as written",
    "&lt;p&gt; &amp;amp; &eacute;&#233;&#xe9; &nosuch; &copy": "<p> &amp; ééé &nosuch; ©",
    "a\0b": "ab",
    "1 < 2 > 1 & <3": "1 < 2 > 1 & <3",
    "<p title='a > b'>text": "text",
    "<b>one<p>two</b>three</p>": "one\ntwothree",
    "<x-y>one</x-y><unknown>two</unknown>": "onetwo",
    "</p>one</div></b>two": "onetwo",
    "<body hidden>no": "",
}
"""Some of it is not what a browser shows, which would need style sheets; but all agree."""

ADJACENT_LINKS = {
    "<a href=/x>one</a><a href=/y>two</a>": "one two",
    "<b><a href=/x>one</a></b><i><a href='#y'>two</a></i>": "one two",
    "<a href=/x>one</a><!-- no --><script>no</script><a href=/y>two</a>": "one two",
    "<a href=/x>one</a><a href=/y hidden>no</a><a href=/z>two</a>": "one two",
    "<a href=/x>one</a><a href=/y><img src=z></a><a href=/z>two</a>": "one two",
    "<a href=/x>one</a> <a href=/y>two</a>\n<a href=/z>three</a>": "one two three",
    "<a href=/x>dog</a>s (<a href=/y>cat</a>)<a href=/z>s</a>": "dogs (cat)s",
    "w<a href=/x><b>or</b>d</a>s, <b>w</b>or<a href=/x></a><a href=/y>d</a>": "words, word",
    "wor<span hidden><a href=/x>no</a></span>d<a href=/y>s</a>": "words",
    "<a name=x>see (<a href=/y>one</a>)": "see (one)",
}
"""Between links that touch is a blank, but none in a word that is linked in part."""

CHARSET_QUERIES = {
    ("shift_jis", "/日本?q=日本#日"): "/%E6%97%A5%E6%9C%AC?q=%93%FA%96{#%E6%97%A5",
    ("euc-jp", "?q=日本"): "/dir/page.html?q=%C6%FC%CB%DC",
    ("iso-2022-jp", "?q=日本"): "/dir/page.html?q=%1B$BF|K\\%1B(B",
    ("big5", "?q=中文"): "/dir/page.html?q=%A4%A4%A4%E5",
    ("gb18030", "?q=中文"): "/dir/page.html?q=%D6%D0%CE%C4",
    ("euc-kr", "?q=한국"): "/dir/page.html?q=%C7%D1%B1%B9",
    ("windows-1251", "?q=Привет&amp;x=1"): "/dir/page.html?q=%CF%F0%E8%E2%E5%F2&x=1",
    ("windows-1252", "?q=ü&#8364;&#26085;"): "/dir/page.html?q=%FC%80%26%2326085%3B",
    ("utf-8", "?q=日本"): "/dir/page.html?q=%E6%97%A5%E6%9C%AC",
    ("utf-16le", "?q=日本"): "/dir/page.html?q=%E6%97%A5%E6%9C%AC",
}
"""By charset and reference, where links lead: their queries are in the page's charset, and
characters that it lacks are numbers."""

LINKS = {
    "": [],
    "<a href=/x>x</a><A HREF='y'>y</A>": ["a /x", "a /dir/y"],
    "<a name=x>x</a><a href>x</a>": [],
    "<map><area href=/x alt=z></map>": ["area /x"],
    "<frameset><frame src=/f1><frame src=/f2></frameset>": ["frame /f1", "frame /f2"],
    "<iframe src=/x></iframe>": ["iframe /x"],
    "<img src=/x>": ["img /x"],
    "<img src=/x srcset='/a 1x, /b,c 2x,/d'>": ["img /x", "img /a", "img /b,c", "img /d"],
    "<img srcset='data:image/png;base64,AA 1x, /b 100w'>": ["img /b"],
    "<picture><source srcset='/a, /b 2x'><img src=/c></picture>": [
        *("source /a", "source /b", "img /c")
    ],
    "<video src=/v poster=/p><source src=/s><track src=/t></video>": [
        *("video /v", "video /p", "source /s", "track /t")
    ],
    "<audio src=/a></audio><embed src=/e><object data=/o></object>": [
        *("audio /a", "embed /e", "object /o")
    ],
    "<input type=image src=/x>": ["input /x"],
    "<script src=/x></script><script>x</script>": ["script /x"],
    "<link rel=stylesheet href=/x><link href=/y>": ["link /x", "link /y"],
    "<link rel=preconnect href=/x><link rel='DNS-Prefetch' href=/y>": [],
    "<div hidden><a href=/x>x</a></div>": ["a /x"],
    "<noscript><a href=/x>x</a></noscript>": ["a /x"],
    "<template><a href=/x>x</a></template>": [],
    "<!-- <a href=/x>x</a> --><script>'<a href=/x>'</script>": [],
    "<svg><a href=/x>x</a><a xlink:href=/y>y</a></svg>": ["a /x", "a /y"],
    "<a href=/x>one<a href=/y>two": ["a /x", "a /y"],
    "<a href=/x><div><p>one</div></a>": ["a /x"],
    "<table><a href=/x>x</a><tr><td><a href=/y>y": ["a /x", "a /y"],
    "<p><a href='/x' HREF='/y'>x": ["a /x"],
    "<a href=http://other.example/>x</a>": ["a http://other.example/"],
    "<a href=ftp://f.example/x>x</a>": ["a ftp://f.example/x"],
}

NO_LINKS = (
    *("", " ", "#", "#top", "javascript:void(0)", " JavaScript:x", "mailto:a@b.example", "tel:1"),
    *("data:text/html,x", "about:blank", "http://", "http://[/", "http://a b/", "news:x", "blob:x"),
    *("java\tscript:x", "intent://x", "#\n"),
)

RESOLVED = {
    "x": "/dir/x",
    " x\n": "/dir/x",
    "/x": "/x",
    "./../x": "/x",
    "../../../x": "/x",
    "?y": "/dir/page.html?y",
    "//other.example/x": "http://other.example/x",
    "/\\other.example/x": "http://other.example/x",
    "HTTP://OTHER.example:80/x": "http://other.example/x",
    "/a b": "/a%20b",
    "/ä?ö": "/%C3%A4?%C3%B6",
    "/x#y": "/x#y",
    "#!state": "/dir/page.html?q=1#!state",
    "/a&amp;b=1&copy=2": "/a&b=1&copy=2",
    "/a\nb\tc": "/abc",
    "http://b\u00fccher.example/": "http://xn--bcher-kva.example/",
}

BASES = {
    "/base/": "/base/before",
    "http://other.example/d/": "http://other.example/d/before",
    "//other.example": "http://other.example/before",
    "": "/second/before",
    "javascript:x": "/dir/before",
    "http://[": "/dir/before",
}

ANCHORS = {
    "<a href=/x>one</a>": "one",
    "<a href=/x>\n one <b>two</b>\n</a>": "one two",
    "<a href=/x></a>": "",
    "<a href=/x><img alt='a  picture'></a>": "a picture",
    "<a href=/x><img alt=one> <img alt=two><img></a>": "one two",
    "<a href=/x>text<img alt=picture></a>": "text",
    "<a href=/x><script>no</script><style>no</style></a>": "",
    "<a href=/x><div>one</div><div>two</div></a>": "one two",
    "<a href=/x>&lt;&eacute;&gt;</a>": "<é>",
    "<a href=/x>one<a href=/y>two</a>": "one",
    "<div hidden><a href=/x>unseen</a></div>": "unseen",
    "<a href=/x hidden>unseen</a>": "unseen",
    "<a href=/x>never ends": "never ends",
    "<map><area href=/x alt=area></map>": "",
}

LANGUAGES = {
    "<html lang=de>": "de",
    "<html lang=' de-AT '>": "de",
    "<html lang=EN_us>": "en",
    "<html xml:lang=fr>": "fr",
    "<html lang=''>": "",
    "<html lang=und>": "",
    "<html lang=nonsense>": "",
    "<html lang=gsw-CH>": "gsw",
    "<meta http-equiv=Content-Language content='es, en'>": "es",
    "<meta name=dc.language content=it>": "it",
    "<html lang=nl><meta http-equiv=content-language content=en>": "nl",
    "<p lang=ja>x": "",
}

REFRESHES: dict[str, Refresh | None] = {
    "0;url=/x": Refresh(f"{HERE}/x", temporary=True),
    "4;url=/x": Refresh(f"{HERE}/x", temporary=True),
    "5;url=/x": Refresh(f"{HERE}/x", temporary=False),
    " 10 ; URL = x ": Refresh(f"{HERE}/dir/x", temporary=False),
    '0;url="/x"': Refresh(f"{HERE}/x", temporary=True),
    '0;url="/x" junk': Refresh(f"{HERE}/x", temporary=True),
    "0, /x": Refresh(f"{HERE}/x", temporary=True),
    "0 /x": Refresh(f"{HERE}/x", temporary=True),
    "0.5;url=http://other.example/": Refresh("http://other.example/", temporary=True),
    "30": None,
    "30;": None,
    "0;url=": None,
    "url=/x": None,
    "-1;url=/x": None,
    "x;url=/x": None,
    "0;url=javascript:x": None,
    f"0;url={PAGE}": None,
    "0;url=#here": None,
    "9999999999999;url=/x": None,
}

ROBOTS: dict[str, frozenset[str]] = {
    "": frozenset(),
    "<meta name=robots content='noindex'>": frozenset(("noindex",)),
    "<META NAME=Robots CONTENT='NOINDEX , NoFollow'>": frozenset(("noindex", "nofollow")),
    "<meta name=robots content=none>": frozenset(("noindex", "nofollow")),
    "<meta name=robots content='index, follow'>": frozenset(),
    "<meta name=robots content=noarchive><meta name=mybot content=nofollow>": frozenset(
        ("noarchive", "nofollow")
    ),
    "<meta name=otherbot content=noindex>": frozenset(),
    "<meta name=robots>": frozenset(),
    "<meta http-equiv=pragma content=no-cache>": frozenset(("noarchive",)),
    "<body><p><meta name=robots content=noindex>": frozenset(("noindex",)),
}

CANONICALS = {
    "": "",
    "<link rel=canonical href=/c>": f"{HERE}/c",
    "<link rel='x CANONICAL' href=c>": f"{HERE}/dir/c",
    "<link rel=canonical href=/c><link rel=canonical href=/d>": f"{HERE}/c",
    "<base href=/b/><link rel=canonical href=c>": f"{HERE}/b/c",
    "<link rel=canonical href=javascript:x>": "",
    "<link rel=canonical>": "",
    "<body><p><link rel=canonical href=/c>": "",
}

METADATA: dict[str, dict[str, str]] = {
    "": {},
    "<meta name=Description content=' a\n text '>": {"description": "a text"},
    "<meta name=keywords content=a,b><meta name=keywords content=c>": {"keywords": "a,b"},
    "<meta name=nobody-knows content=x><meta content=x><meta name=author>": {},
    "<meta property='og:title' content=x><meta name='twitter:card' content=y>": {
        "og:title": "x",
        "twitter:card": "y",
    },
    "<meta name=description property='og:description' content=x>": {
        "description": "x",
        "og:description": "x",
    },
    "<meta property='og:image' content=/i.png>": {"og:image": "/i.png", "image": f"{HERE}/i.png"},
    "<link rel=image_src href=/j.png><meta name='twitter:image' content=k.png>": {
        "twitter:image": "k.png",
        "image": f"{HERE}/dir/k.png",
    },
    "<link rel=image_src href=/j.png>": {"image": f"{HERE}/j.png"},
    "<link rel=alternate hreflang=de-AT href=/de><link rel=alternate hreflang=x href='#'>": {
        "hreflang.de-at": f"{HERE}/de",
        "hreflang.x": f"{PAGE}#",
    },
    "<link rel=alternate type=application/rss+xml href=/r>"
    "<link rel=alternate type='application/atom+xml; charset=utf-8' href=/a>"
    "<link rel=alternate type=text/plain href=/t>": {"feeds": f"{HERE}/r {HERE}/a"},
    '<script type="application/ld+json"> {"@type": "Thing"} </script>': {
        "json-ld": '[{"@type": "Thing"}]',
        "json-ld.type": "Thing",
    },
    '<script type="application/ld+json">[{"@type": ["A", "B"]}, 1]</script>'
    '<script type="application/ld+json">{"@graph": [{"@type": "C"}, {"@type": "A"}]}</script>': {
        "json-ld": '[[{"@type": ["A", "B"]}, 1],{"@graph": [{"@type": "C"}, {"@type": "A"}]}]',
        "json-ld.type": "A B C",
    },
    '<script type="application/ld+json">//<![CDATA[\n{"@type": "A"}\n// ]]></script>'
    '<script type="application/ld+json">/*<![CDATA[*/{"n": "a\tb\nc"}/*]]>*/</script>'
    '<script type="application/ld+json"><!-- [] --></script>': {
        "json-ld": '[{"@type": "A"},{"n": "a\\tb\\nc"},[]]',
        "json-ld.type": "A",
    },
    '<script type="application/ld+json">{"x": NaN}</script>': {},
    '<script type="application/ld+json">{not json</script>': {},
    f'<script type="application/ld+json">{"[" * 20_000}</script>': {},
    '<script type="application/json">{"@type": "Thing"}</script>': {},
}
