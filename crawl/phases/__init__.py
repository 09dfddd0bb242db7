"""The top floor: one file a phase, each a short Spark program over the floors below.

Only here may pyspark be imported. `session` opens Spark, `tasks` maps a plain function
over buckets, `progress` tells the user how far it is.
"""
