"""What a job will do."""
