"""The connections of an inquiry: the web (`web.py`) and the models (`models.py`). Each request is written into the trail before it is
sent, and is never sent twice. `replay_stand_ins.py` replaces both when a bundle is replayed.
"""
