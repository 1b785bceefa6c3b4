"""The shell commands, a file each (`pipeline` has those of a trial): parse, call, print."""
