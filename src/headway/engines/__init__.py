"""Where jobs really run."""
