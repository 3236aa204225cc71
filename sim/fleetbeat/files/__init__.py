"""Files: the port that a process sees, a POSIX model in memory behind it, and the real file system behind it."""
