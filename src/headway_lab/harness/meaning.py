"""What a Python file does, apart from how it says so: its code without comments, docstrings, layout and imports."""

import ast
from hashlib import sha256

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def meaning(text: str) -> str:
    """The same for two files that do the same; a file that does not parse means its text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return sha256(text.encode()).hexdigest()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del body[0]
        # Names that come from another place are what they were; what stands there is compared as a file of its own.
        body[:] = [each for each in body if not isinstance(each, ast.Import | ast.ImportFrom)]
    return sha256(ast.dump(tree).encode()).hexdigest()
