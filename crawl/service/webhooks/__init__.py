"""Webhooks: signed messages about finished URLs to endpoints that somebody registered.

`registrations` keeps who wants what, `outbox` stores each delivery before anybody tries it,
`deliverer` tries them by a few threads of one process at a time, `sender` makes one request.
A delivery arrives at least once, and in no particular order.
"""
