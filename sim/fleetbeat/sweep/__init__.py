"""Many runs: what varies, how each is played, where results are kept, and what they say with which certainty."""
