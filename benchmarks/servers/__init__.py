"""What the claims about the server stand on: the servers that take part, the graphs they serve, and the driver's HTTP client."""
