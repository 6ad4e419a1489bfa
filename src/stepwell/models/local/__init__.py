"""Models that run in this process: which ones exist, how their files are fetched, how llama.cpp is run and called."""
