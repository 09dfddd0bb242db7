from __future__ import annotations

import hashlib

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.signature.md5 import MD5Signature
from crawl.plugins.signature.simhash import SimhashSignature, distance
from crawl.plugins.signature.text_md5 import TextMD5Signature
from crawl.plugins.signature.text_profile import TextProfileSignature
from crawl.testing.signature_contract import SignatureContract

URL = "http://a.org/"


def md5(text: str) -> bytes:
    return hashlib.md5(text.encode()).digest()


class TestMD5(SignatureContract):
    plugin_class = MD5Signature

    def test_of_the_body_or_else_of_the_url(self) -> None:
        plugin = self.make()
        assert plugin.calculate(Content(URL, b"body"), None) == md5("body")
        assert plugin.calculate(Content(URL, b""), Parse(URL, text="text")) == md5(URL)


class TestTextMD5(SignatureContract):
    plugin_class = TextMD5Signature

    def test_of_the_text_or_else_of_the_body(self) -> None:
        plugin = self.make()
        assert plugin.calculate(Content(URL, b"body"), Parse(URL, text="text")) == md5("text")
        assert plugin.calculate(Content(URL, b"body"), Parse(URL)) == md5("body")
        assert plugin.calculate(Content(URL, b"body"), None) == md5("body")


class TestTextProfile(SignatureContract):
    plugin_class = TextProfileSignature

    def profile(self, text: str, config: Config | None = None) -> bytes:
        plugin = TextProfileSignature(config or Config.of())
        return plugin.calculate(Content(URL, b"body"), Parse(URL, text=text))

    def test_words_with_rounded_counts_the_most_frequent_first(self) -> None:
        text = "The cat. THE DOG, the bird_cat; an ox is ok 3000 times\n" + "dog the the"
        # the 5, cat 2, dog 2, bird 1, times 1, 3000 1; rounded to twos, ones are left out
        assert self.profile(text) == md5("the 4\ncat 2\ndog 2")

    def test_words_that_occur_once_count_if_none_occurs_more(self) -> None:
        assert self.profile("beta alpha") == md5("alpha 1\nbeta 1")

    def test_short_words_alone_make_no_profile(self) -> None:
        assert self.profile("a an is of") == md5("body")
        longer = Config.of({"db.signature.text_profile.min_token_len": 1})
        assert self.profile("an is", longer) == md5("an 1\nis 1")

    def test_counts_are_rounded_to_a_share_of_the_largest(self) -> None:
        rough = Config.of({"db.signature.text_profile.quant_rate": 0.25})
        text = "word " * 10 + "other " * 5 + "rare " * 2
        # a quarter of ten, and halves go up: three
        assert self.profile(text, rough) == md5("word 9\nother 3")

    def test_small_changes_do_not_matter(self) -> None:
        text = "many words stand here and many more words stand there " * 40
        assert self.profile(text) == self.profile(text + "visitor 4711 today")


class TestSimhash(SignatureContract):
    plugin_class = SimhashSignature

    def digest(self, text: str) -> bytes:
        return self.make().calculate(Content(URL, text.encode()), Parse(URL, text=text))

    def test_texts_that_are_nearly_the_same_are_near(self) -> None:
        words = [f"word{number * 7919 % 1000}" for number in range(400)]
        text = " ".join(words)
        changed = " ".join([*words[:200], "inserted", *words[200:]])
        other = " ".join(f"term{number * 104729 % 1000}" for number in range(400))
        assert len(self.digest(text)) == 8
        assert self.digest(text) == self.digest(text.upper())
        assert 0 <= distance(self.digest(text), self.digest(changed)) <= 6
        assert distance(self.digest(text), self.digest(other)) >= 16

    def test_the_order_of_words_counts(self) -> None:
        words = [f"word{number}" for number in range(100)]
        backwards = " ".join(reversed(words))
        assert distance(self.digest(" ".join(words)), self.digest(backwards)) > 6

    def test_without_text_the_bytes_count(self) -> None:
        assert self.make().calculate(Content(URL, b"body"), Parse(URL)) == md5("body")
