"""Rounds: their steps as data (`steps`), and the loop that runs them (`loop`).

`steps` knows neither Spark nor the disk, so that a scheduler can load it anywhere;
`crawl.rounds.loop` is for whoever runs the phases.
"""
