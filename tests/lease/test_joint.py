"""A lease that counts only while another does."""

from dataclasses import dataclass

from headway.lease.joint import JointLease


@dataclass
class PlainLease:
    """One that a test sets."""

    token: int | None = 1
    renew_every_s: float | None = None
    lost: str | None = None
    certain: bool = True
    renewed: int = 0
    released: int = 0

    def sure(self) -> bool:
        return self.certain

    def renew(self) -> None:
        self.renewed += 1

    def release(self) -> None:
        self.released += 1


def test_it_counts_only_while_both_do() -> None:
    own, above = PlainLease(), PlainLease(token=7, renew_every_s=2.0)
    both = JointLease(own, above)
    assert both.sure() and both.lost is None and (both.token, both.renew_every_s) == (7, 2.0)
    above.certain = False
    assert not both.sure()
    above.certain, own.certain = True, False
    assert not both.sure()
    own.lost = "somebody beside"
    assert both.lost == "somebody beside"
    above.lost = "somebody above"
    assert both.lost == "somebody above"


def test_both_are_renewed_and_only_its_own_is_given_back() -> None:
    own, above = PlainLease(renew_every_s=1.0), PlainLease(renew_every_s=3.0)
    both = JointLease(own, above)
    both.renew()
    both.release()
    assert (own.renewed, above.renewed, own.released, above.released, both.renew_every_s) == (1, 1, 1, 0, 1.0)
