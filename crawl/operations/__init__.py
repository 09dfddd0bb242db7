"""What an operation is: one capability of the crawler as a value, from which every face is derived.

`options.py` declares what can be asked for, `operation.py` the operation itself, `work.py` what
one is run with, `events.py` what it tells meanwhile, `running.py` one that is under way, `view.py`
what is shown of a result, `registry.py` which operations there are, `schema.py` their JSON Schema.
No face is known here: the command line, the API, the DAG and the documentation read the registry.
"""
