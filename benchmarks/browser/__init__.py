"""What the claims about the web page need: Debian's Chromium, a script that watches from inside the page, and graphs to talk to."""
