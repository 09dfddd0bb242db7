"""The realtime lane over several processes, with Kafka between them: a partition of the jobs is the
right to ask its domains."""
