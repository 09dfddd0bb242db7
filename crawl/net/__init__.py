"""Where a host is (DNS) and which addresses may be asked: below the fetcher and the protocol
plugins, which both obey it."""
