"""`python -m musculo`: the same as `musculo`, where the Python is known and its folder of commands is not."""

from __future__ import annotations

from musculo.cli.main import main

if __name__ == "__main__":
    main()
