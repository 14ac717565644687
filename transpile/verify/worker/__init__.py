"""The processes that run the scripts: they alone import the framework."""
