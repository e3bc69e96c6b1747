"""A secret in an error is taken out where the text comes in; what is no secret stays."""

import pytest

from headway.loop.trouble import says
from headway.model.secrets import without_secrets

SECRET = "hunter2-0815"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{SECRET}";'


@pytest.mark.parametrize(
    "text",
    [
        f"kafka.ssl.truststore.password = {SECRET}",
        f"kafka.ssl.key.password -> {SECRET}, subscribe -> orders",
        f"Invalid value {JAAS} for configuration sasl.jaas.config",
        f"options: {{'password': '{SECRET}', 'user': 'me'}}",
        f'{{"client_secret": "{SECRET}", "scope": "all"}}',
        f"Map(fs.s3a.secret.key -> {SECRET}, fs.s3a.endpoint -> here)",
        f"jdbc:postgresql://db/shop?user=me&password={SECRET}&ssl=true",
        f"cannot reach https://me:{SECRET}@registry.example/v1",
        f"header Authorization: Bearer {SECRET}",
        f"Authorization: Basic {SECRET}",
        f"AccountKey={SECRET}==;EndpointSuffix=core",
        f"X-Auth-Token: {SECRET}",
        f'option("kafka.sasl.password", "{SECRET}")',
        f"('api_key', '{SECRET}')",
        f'password = "with \\" a quote {SECRET}"',
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----",
    ],
)
def test_it_is_hidden_however_it_is_written(text: str) -> None:
    shown = without_secrets(text)
    assert SECRET not in shown and "***" in shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the column `key` cannot be resolved: did you mean key_id",
        "unexpected token: SELECT at line 1",
        "order.kind = 'klnik': expected one of first-come, least-slack",
        "token = None: expected a token, since 0.0.0.0 is not loopback",
        "partition orders-3, offset 1794825354000",
        "https://host:9092/path and user@example.com",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_an_error_is_told_without_it() -> None:
    assert says(ValueError(f"sasl.jaas.config: {JAAS}")) == (
        "ValueError: sasl.jaas.config: org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="me" password="***";'
    )


@pytest.mark.parametrize("word", ["a.", "ab+.", "a.secret", "'a.b", "password= ", "http://"])
def test_a_very_long_line_holds_nobody_up(word: str) -> None:
    """An error may echo a row of megabytes: the time grows with its length, not with the square (that took minutes)."""
    assert without_secrets(f"{word * 100_000} password=hidden").endswith("password=***")
