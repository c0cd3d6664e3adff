"""`python -m exoskel`: the command line, where its script is not on the path."""

from exoskel.cli.main import run

if __name__ == "__main__":
    run()
