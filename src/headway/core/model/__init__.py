"""What a job does on an allocation."""
