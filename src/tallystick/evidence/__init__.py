"""Evidence: what somebody saw, one record each, never rewritten."""
