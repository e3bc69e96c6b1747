"""What a command needs beyond the base: asked for before anything is begun, and told in one line where it is missing."""

from importlib.util import find_spec

from headway.errors import HeadwayError

# By extra, what its commands import at one point or another.
FLEET = ("kazoo", "fastapi", "uvicorn", "httpx")
WAN = ("confluent_kafka", *FLEET)


def require(command: str, extra: str, packages: tuple[str, ...]) -> None:
    """Raises for the first that is not installed. None is loaded."""
    for package in packages:
        if find_spec(package) is None:
            raise _missing(command, package, extra)


def lacks(command: str, error: ModuleNotFoundError, extra: str = "dashboard") -> HeadwayError:
    return _missing(command, str(error.name), extra)


def _missing(command: str, package: str, extra: str) -> HeadwayError:
    return HeadwayError(
        f"`headway {command}` needs the package {package}, which is not installed: pip install 'headway[{extra}]' brings it"
    )
