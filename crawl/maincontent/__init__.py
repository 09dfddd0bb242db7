"""From the markup of one page to its main content, in the order in which a page meets it:

walk.py        over the tree of its markup
outline.py     the page as blocks (paragraphs, headings, items, tables, code) in containers
boilerplate.py which containers are menus, teasers and footers, and where the main content is
markdown.py    the text of one block as Markdown, which a reader takes for what the page said
render.py      the blocks that stay as text or Markdown, with the places of their headings
extract.py     all of it for one page, bounded

Own code on lexbor's tree, because no library is fast and safe enough: `bench export` measures it
beside trafilatura, readability, resiliparse and others.
"""
