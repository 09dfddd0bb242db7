"""What becomes of a wish: one pure function, one table.

    | the URL …                                        | decision |
    |--------------------------------------------------|----------|
    | is none, or too long                             | refuse: malformed |
    | is not of http or https                          | refuse: scheme |
    | a URL filter rejects it                          | refuse: filtered.NAME |
    | its host is an address that must not be asked    | refuse: address |
    | is outside of the scope of its site crawl        | refuse: out_of_scope |
    | is known with all that is wished for, and fresh  | answer |
    | too many jobs of its host wait                   | overload: host_busy |
    | too many jobs of its priority wait               | overload: busy |
    | is on its way already                            | join |
    | else                                             | fetch |

The rows are tried from the top. What is refused costs nothing and says nothing of the load, so it
comes first; what is known answers also under overload. A job that joins waits as long as the one
before it, and takes as much room: else a flood of one URL would have no bound. Robots.txt is not
in the table: its rules are had by a request, and it is the engine that obeys them (`robots_denied`
then).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crawl.service.cards import image_url_of
from crawl.service.intake.freshness import Freshness
from crawl.service.settings import QueueBounds
from crawl.service.values import Page, Wish


class Action(StrEnum):
    """What is done with a wish."""

    REFUSE = "refuse"
    ANSWER = "answer"
    JOIN = "join"
    OVERLOAD = "overload"
    FETCH = "fetch"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with a wish, and why."""

    action: Action
    reason: str = ""
    page: Page | None = None
    """What answers it."""
    retry_after_s: float = 0.0
    """After which it may be taken on, where too much waits."""


@dataclass(frozen=True, slots=True)
class Load:
    """What waits at the moment."""

    of_priority: int = 0
    """Jobs of the wish's priority."""
    of_host: int = 0
    """Jobs of its host."""
    per_second: float = 0.0
    """How many jobs ended in each of the last seconds."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A wish's URL after everything that can be said of it without a request."""

    url: str
    """In normal form."""
    host: str
    refusal: str = ""
    """Why it must not be asked for; empty where it may be."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What decisions go by."""

    freshness: Freshness
    bounds: QueueBounds
    images: bool = False
    """Whether images that stand for pages are fetched where a wish does not say it."""

    def has_all(self, page: Page, wish: Wish) -> bool:
        """Whether all that a wish asks for beside a page's metadata is known. Of what is no page
        there is nothing."""
        if not page.is_page:
            return True
        if wish.wants_markdown and page.markdown is None:
            return False
        wants_image = self.images if wish.image is None else wish.image
        return page.image is not None or not wants_image or not image_url_of(page)


_MIN_RETRY_S = 1.0
_MAX_RETRY_S = 600.0
_UNKNOWN_RATE = 10.0
"""Jobs a second that are expected of a service that has ended none yet."""


def decide(
    wish: Wish,
    checked: Checked,
    page: Page | None,
    *,
    is_in_flight: bool,
    load: Load,
    policy: Policy,
    now_ms: int,
) -> Decision:
    """What becomes of a wish. `page` is what is known of its URL, redirects followed to the end."""
    if checked.refusal:
        return Decision(Action.REFUSE, checked.refusal)
    if (
        page is not None
        and policy.freshness.is_fresh(page, checked.host, wish.max_age_s, now_ms)
        and policy.has_all(page, wish)
    ):
        return Decision(Action.ANSWER, page=page)
    bound = policy.bounds.of_host
    if not wish.crawl and load.of_host >= bound:
        return _overload("host_busy", load.of_host - bound, load)
    bound = policy.bounds.of_priority(wish.priority)
    if load.of_priority >= bound:
        return _overload("busy", load.of_priority - bound, load)
    return Decision(Action.JOIN if is_in_flight else Action.FETCH)


def _overload(reason: str, excess: int, load: Load) -> Decision:
    """Until a tenth of what waits is done there is room for more than the first who comes back."""
    rate = load.per_second or _UNKNOWN_RATE
    wait_s = (excess + load.of_priority / 10 + 1) / rate
    return Decision(
        Action.OVERLOAD, reason, retry_after_s=min(max(wait_s, _MIN_RETRY_S), _MAX_RETRY_S)
    )
