"""The arithmetic of training: batches, steps, schedules and rates, for one process and for several.

``formula`` computes with numbers that may be unknown, ``reading`` makes formulas of what a script
says, ``lengths`` says how long things are, ``loops`` how often loops run, ``steps`` how often
something in them happens, ``schedules`` when a rate changes, and ``account`` puts it together. What
a framework calls these things, and how its rules share them out, is in the ``_arithmetic`` module
of its rules.
"""
