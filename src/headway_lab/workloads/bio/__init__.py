"""Streams from the bedside, as in Buddhika et al. (TPDS 2017): how chests move, and where hearts beat.

They are real recordings, read from the folder that HEADWAY_DATA names; nothing of them is part of the project. As in the
paper they may be played much faster than they were recorded: results depend on the times in the records alone.
"""
