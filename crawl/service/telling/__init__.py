"""What is told of jobs that ended, and in which words."""
