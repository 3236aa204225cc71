"""Races: search the orders, faults and crashes of a small world for those under which an invariant breaks."""
