"""Metadata that tells of the last answer a URL gave: each fetch says all of it anew."""

from __future__ import annotations

PROTOCOL_STATUS_KEY = "_pst_"
REPRESENTATIVE_KEY = "_repr_"
RESPONSE_TIME_KEY = "_rs_"
CODE_KEY = "nutch.protocol.code"
CONTENT_TYPE_KEY = "Content-Type"
ETAG_KEY = "ETag"
LAST_MODIFIED_KEY = "Last-Modified"
"""As the server wrote it: some servers answer 304 to that very text and to no other moment."""
ADDRESS_KEY = "_ip_"

PARSE_STATUS_KEY = "_parse_status_"
"""Why the page could not be parsed when it was last fetched; not said by the answer."""

ANSWER_KEYS = frozenset(
    (
        *(PROTOCOL_STATUS_KEY, REPRESENTATIVE_KEY, RESPONSE_TIME_KEY, CODE_KEY),
        *(CONTENT_TYPE_KEY, ETAG_KEY, LAST_MODIFIED_KEY, ADDRESS_KEY),
    )
)

VALIDATOR_KEYS = (ETAG_KEY, LAST_MODIFIED_KEY)
"""The validators of our version, sent to the server so that it may answer 304."""
