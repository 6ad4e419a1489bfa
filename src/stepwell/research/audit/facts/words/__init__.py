"""What words mean, as far as the checks must know it. Nothing here reads a whole sentence."""
