"""Counter-based draws: every choice has a name, and its value is a hash of the seed and that name."""
