"""Timeline: what happened to a run, as three lanes over each attempt, and what it achieved."""
