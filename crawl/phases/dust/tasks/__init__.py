"""dust: what of a host's URLs makes no difference, learnt from pages that were fetched.

`forms.py` cuts a column of URLs into numbers; `rows.py` asks of every part whether other URLs
are the same but for it; `evidence.py` brings these rows together by host and counts who agrees
and who contradicts; `task.py` is what is done to a slice. What counts as enough is decided by
crawl/phases/dust/rules.py.
"""
