"""SQL expressions that generated streams are made of in Spark: bits of a hash, choices by them, entries of a table."""

import numpy as np

from headway_lab.workloads.hashing import Bits, Longs


def hash_bits(bits: Bits) -> str:
    """The SQL for what `take_bits` is in numpy, of the hash in column `h`, as an int."""
    first, width = bits
    return f"cast(shiftrightunsigned(h, {first}) & {(1 << width) - 1}L as int)"


def choice(names: tuple[str, ...], bits: Bits) -> str:
    """The SQL for one of `names`, each as likely as the others."""
    cases = " ".join(f"when {index} then '{name}'" for index, name in enumerate(names[:-1]))
    return f"case {hash_bits(bits)} % {len(names)} {cases} else '{names[-1]}' end"


def entry(table: Longs, index: str) -> str:
    """The SQL for `table[index]`, as a bigint.

    The table goes as one string of bytes for each digit to the base of 128. Spark plans every micro-batch anew and
    serialises the plan several times: bytes are one object there, an array of a thousand numbers is a thousand.
    """
    digits = max(1, -(-int(table.max()).bit_length() // 7))
    columns = [bytes(((table >> 7 * d) & 127).astype(np.uint8).tolist()) for d in range(digits)]
    digit = [f"cast(ascii(cast(substring(X'{c.hex()}', {index} + 1, 1) as string)) as bigint)" for c in columns]
    return f"({' + '.join([digit[0], *(f'{more} * {128**d}L' for d, more in enumerate(digit[1:], start=1))])})"
