"""A lease that counts only while another one does: a checkpoint's own, under the right to run its query at all."""

from headway.lease.port import Lease


class JointLease:
    """Both are asked, both are renewed, and either may be lost. Only the own one is given back."""

    def __init__(self, own: Lease, above: Lease) -> None:
        self._own, self._above = own, above
        self.token = above.token
        intervals = [every for every in (own.renew_every_s, above.renew_every_s) if every is not None]
        self.renew_every_s = min(intervals, default=None)

    @property
    def lost(self) -> str | None:
        return self._above.lost or self._own.lost

    def sure(self) -> bool:
        return self._above.sure() and self._own.sure()

    def renew(self) -> None:
        self._above.renew()
        self._own.renew()

    def release(self) -> None:
        self._own.release()
