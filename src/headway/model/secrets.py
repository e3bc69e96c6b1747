"""What looks like a secret in a text that others wrote: an error that echoes an option with its password, say.

Such a text goes to pages, into journals, metrics and logs. So the secret is taken out where the text comes in.
"""

import re

HIDDEN = "***"
# What an option, a header or a parameter with a secret is called. `key` alone is a column of data far more often.
# Each word is looked at once, from its beginning: a long one must not be begun anew at each of its dots.
_NAME = (
    r"(?:(?<![\w.\-])(?=[\w.\-]*(?:password|passwd|passphrase|secret|credentials?|token|api[_\-.]?key|access[_\-.]?key"
    r"|account[_\-.]?key|private[_\-.]?key|shared[_\-.]?access[_\-.]?signature))[\w.\-]++|\b(?:pwd|sig|authorization)\b)"
)
_QUOTED = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
# name = value, name: value, "name": "value", name -> value, (name, value): with a value that is quoted, or one word.
_OPTION = re.compile(
    rf"(?i)(?P<name>(?P<mark>[\"']?){_NAME}(?P=mark))(?P<is>\s*(?:=>|->|=|:|,\s*(?=[\"']))\s*)"
    rf"(?P<value>{_QUOTED}|[^\s,;&)\]}}]+)"
)
_SCHEME = re.compile(r"(?i)\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=\-]{8,}")
_ADDRESS = re.compile(r"(?i)\b([a-z][a-z0-9+.\-]{0,30}://[^\s/:@]*):[^\s/@]+@")
_PEM = re.compile(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)")


def without_secrets(text: str) -> str:
    """The text with `***` in place of values of options, parameters and headers whose names say that they are secret."""
    text = _SCHEME.sub(rf"\1 {HIDDEN}", _PEM.sub(HIDDEN, text))
    text = _ADDRESS.sub(rf"\1:{HIDDEN}@", text)
    return _OPTION.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    value = found["value"]
    mark = value[0] if value[0] in "\"'" else ""
    if value.rstrip(":.").lower() in ("bearer", "basic", HIDDEN, "none", "null"):
        return found[0]
    if not mark and found["name"].lower() == "token" and found["is"].strip() == ":":  # of a parser: unexpected token: SELECT
        return found[0]
    return f"{found['name']}{found['is']}{mark}{HIDDEN}{mark}"
