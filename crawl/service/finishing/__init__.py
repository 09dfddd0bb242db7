"""What becomes of answers: parsed, stored, followed, told."""
