"""robots.txt by RFC 9309 and as Google documents it: what an answer for it means, and which
URLs its rules allow. Pure: no network, no thread, no clock."""
