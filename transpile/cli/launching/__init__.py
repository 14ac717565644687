"""What commands ask of launch files: options, settings, scripts, files."""
