"""`headway jar`: where the jar is, for `spark-submit --jars $(headway jar)`."""

import typer

from headway.spark.jvm import JAR


def jar() -> None:
    """Print the path of Headway's jar."""
    typer.echo(str(JAR))
