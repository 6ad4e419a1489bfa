"""Demos that need no model, key or network: an agent that plays a script, and an invented web on which research is demonstrated.

They are the real graphs with the real tools, interrupts and evidence. Each says on the screen which parts are not real.
"""
