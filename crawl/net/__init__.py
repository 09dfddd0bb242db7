"""Where a host is (DNS) and which addresses may be asked, below the fetcher and the protocol
plugins, which both obey it; and what of a server's words may be told (secret_mask.py)."""
