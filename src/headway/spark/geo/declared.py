"""Pieces declared as the queries of a pipeline file, so that a node prepares, starts and moves them as it does any other."""

from pathlib import Path
from typing import Any

from headway import pipeline
from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.spark.geo.query import PieceQuery
from headway.spark.runtime import Runtime
from headway.wan.job import GeoJob, job_in
from headway.wan.site_file import SiteFile, ends_of

RESTARTS = 3  # of a piece that fails, by its own node; then the controller is asked


def declare(facts: str) -> None:
    """The pieces of a site file. To be called by the file that a node is given."""
    here = SiteFile.read(Path(facts))
    job = job_in(Path(here.job))
    for piece in here.pieces:
        pipeline.query(piece.name, restart=RESTARTS)(_builder(job, here, piece))


def _builder(job: GeoJob, here: SiteFile, piece: Piece) -> pipeline.Builder:
    def until() -> EventMs | None:
        return ends_of(Path(here.limits)).get(piece.generation)

    def build(rt: Runtime, spark: Any) -> Any:
        return PieceQuery(job, piece, here.servers, until).writer(rt)

    return build
