"""From the markup of one page to its main content, in the order in which a page meets it:

walk.py        over the tree of its markup
outline.py     the page as blocks (paragraphs, headings, items, tables, code) in containers
enclosures.py  which items and quotations blocks lie in
phrases.py     the text of a block, with marks for emphasis
scripts.py     x² for x<sup>2</sup>; mathml.py formulas
names.py       what an element says of itself
weights.py     how much text containers hold, and how much of it is links
boilerplate.py which containers are menus, teasers, captions, comments and footers
main_blocks.py where the main text is, and which of its blocks stay
markdown.py    the text of one block as Markdown, which a reader takes for what the page said
emphasis.py    its delimiters
prefixes.py    the markers before its lines
render.py      the blocks that stay as text or Markdown, with the places of their headings
extract.py     all of it for one page, bounded

Own code on lexbor's tree, because no library is fast and safe enough: `bench export` measures it
beside trafilatura, readability, resiliparse and others.
"""
