"""The realtime lane: a service that takes URLs as they appear, and answers for their pages."""
