"""What a crawl tells those who run it: metrics, traces, logs. Nothing of it is imported
that nobody has switched on, and a crawl never fails because nobody listens.

    context     where in the crawl a thread is
    metrics     the figures, as data · meter holds them · prometheus lets them out
    tracing     spans, by OpenTelemetry
    logs        JSON lines
    ambient     what is switched on in this process
    task        what goes with a task to its worker and comes back
"""
