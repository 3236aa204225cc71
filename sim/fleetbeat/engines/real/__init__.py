"""What the engines on real directories share: the harness, its view of the fleet, and the means of its faults."""
