"""Pure renderers: one frozen report in, text, JSON or XML out."""
