"""Which findings a project has accepted: by comments, by a baseline, by the choice of codes."""
