"""Models that run in this process: which there are, how their files are fetched, how llama.cpp is kept and asked."""
