from __future__ import annotations

import base64

import pytest

from crawl.errors import UsageError
from crawl.service.webhooks.signing import check_secret, is_genuine, new_secret, signature

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
AT = 1_614_265_330


def test_as_the_specification_has_it() -> None:
    """The example of the Standard Webhooks libraries."""
    signed = signature(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", AT, BODY)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def genuine(**changes: str | bytes | int) -> bool:
    values: dict[str, str | bytes | int] = {
        "secret": SECRET,
        "message_id": "m1",
        "timestamp": str(AT),
        "signatures": signature(SECRET, "m1", AT, BODY),
        "body": BODY,
        "now_ms": AT * 1000,
    }
    return is_genuine(**{**values, **changes})  # type: ignore[arg-type]


def test_a_message_is_genuine_as_it_was_signed_and_not_otherwise() -> None:
    assert genuine()
    assert genuine(now_ms=(AT + 299) * 1000)
    assert genuine(signatures="v1,x v1a,y " + signature(SECRET, "m1", AT, BODY))
    other = new_secret(lambda count: bytes(count))
    for changes in (
        {"secret": other},
        {"message_id": "m2"},
        {"timestamp": str(AT + 1)},
        {"timestamp": "soon"},
        {"timestamp": "9" * 1000},
        {"signatures": ""},
        {"signatures": "v1,é"},
        {"body": BODY + b" "},
        {"now_ms": (AT + 301) * 1000},
        {"now_ms": (AT - 301) * 1000},
    ):
        assert not genuine(**changes), changes


def test_secrets() -> None:
    made = new_secret(lambda count: b"\xff" * count)
    assert check_secret(made) == made
    assert base64.b64decode(made.removeprefix("whsec_")) == b"\xff" * 32


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "x" * 40,
        "whsec_" + "A" * 28,
        "whsec_" + "A" * 100,
        SECRET + "\n",
        "whsec_" + "A" * 31 + "\r\nX: y",
        "whsec_" + "A" * 33,
        SECRET[6:],
        "whsec_" + "é" * 32,
    ],
)
def test_what_is_no_secret(secret: str) -> None:
    with pytest.raises(UsageError, match="24 to 64 bytes"):
        check_secret(secret)
