"""Work on whole buckets of a table with Arrow: no Spark here; a phase maps these
functions over the buckets."""
