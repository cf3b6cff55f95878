"""Run the command line as `python -m docaps` (also under torchrun)."""

from docaps.cli.main import main

if __name__ == "__main__":
    main()
