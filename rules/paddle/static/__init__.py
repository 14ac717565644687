"""Static graphs of Paddle scripts, collective or with parameter servers."""
