"""The rules: one package for each framework, one file for each rule."""
