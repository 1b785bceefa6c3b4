"""The shell commands: parse, call, print; no mechanics."""
