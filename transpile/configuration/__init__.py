"""What a project says once for all of its scripts: ``disttranspile.toml`` or ``pyproject.toml``.

``files`` finds and reads, ``schema`` checks, ``settings`` says what holds for one script. The table
of options comes from the command, so that a new option of it is a new key here.
"""
