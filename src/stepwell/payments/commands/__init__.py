"""`stepwell wallet`."""
