"""What the agent and the service say to each other."""
