"""The ecosystem check: what the tool makes of scripts that other people wrote."""
