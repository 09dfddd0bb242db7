"""The machinery of tables in buckets: who runs tasks, how rows reach other buckets, how sorted
files are merged, split and looked up in. No Spark here.
"""
