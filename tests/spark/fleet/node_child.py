"""`headway node` as a process of its own: `node_child.py --name NAME ...`, with the options of the command."""

import typer

from headway.cli.node import node

if __name__ == "__main__":
    typer.run(node)
