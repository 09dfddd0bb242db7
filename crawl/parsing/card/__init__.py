"""The card of a page: what a preview of it shows, and what programs ask of it first.

card.py           the values, and how large they may be
read.py           the card of any page: who reads it, and what is said where that fails
html_card.py      the card of an HTML page: which source of each field comes before which
elements.py       the elements that matter, of lexbor's tree or of markup that has none
meta_tags.py      meta tags by name, in the order of the page
main_thing.py     which of the things that JSON-LD describes the page is about
linked.py         feeds, icons and oEmbed
images.py         the representative image
picture_size.py   width and height of an image by its first bytes
other_card.py     the card of a PDF file, a feed, an image
bounds.py         texts, addresses and the whole within bounds, with a reason for what is left out
stored.py         the card in the metadata of a parse
"""
