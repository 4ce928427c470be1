"""The command `zeronorm verify`.

It imports no estimator, no solver and no kernel: what checks them must work without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from msgspec import convert

from .. import persistence
from ..core.files import quote
from ..io.input import comparable
from ..io.table import ROLES
from ..reporting.documents.data import (
    describe_data,
    describe_equivalents,
    describe_feature,
)
from ..reporting.records import Claim, Feature, Recomputed, Signs, Verification
from ..reporting.text.certificates import print_verification
from ..verification import CertificateError, UndecidedError
from ..verification.recomputation import COARSEST
from .files import refuse_swapped
from .messages import readers_may_leave, show_document, watched
from .options import VerifyOptions
from .training import other_rows, read_training

if TYPE_CHECKING:
    from ..io.table import Dataset
    from ..persistence import SavedCertificate


# Of the loss of a certificate; else numbers.
_TASKS = {"poisson": "counts", "cox": "survival", "cox_efron": "survival"}

_REFUTED, _UNDECIDED = 1, 3  # Exit codes.


def verify(options: VerifyOptions) -> None:
    """Check a certificate with the data, in plain NumPy."""
    with watched(options) as work:
        if not 0 < options.rtol <= COARSEST:
            raise ValueError(f"--rtol must be above 0 and at most 1e-3; got {options.rtol:g}.")
        refuse_swapped("verify", options.certificate, options.data)
        saved = persistence.load_certificate(options.certificate)
        work.progress.phase(f"Reading {options.data}")
        loss = saved.certificates[0].loss
        task = "classes" if saved.classes_.size else _TASKS.get(loss, "numbers")
        _, table, response = read_training(
            options, task, options.certificate, saved.metadata, work.notes, saved.layout
        )
        y = comparable(response.y, saved.classes_) if saved.classes_.size else response.y
        work.has_read(table)
        others = other_rows(options.data, table, options.certificate, saved.metadata)
        if others is not None:
            raise ValueError(f"{others}. Verify with the same samples; --where chooses them.")
        _check_names(table, saved, options.data)
        _check_columns(table, saved, options.data)
        work.progress.phase("Verifying")
        found: list[dict[str, float]] | None = None
        reason, undecided = None, False
        try:
            found = saved.verify(table.X, y, offset=response.offset, rtol=options.rtol)
        except CertificateError as error:
            reason, undecided = str(error), isinstance(error, UndecidedError)
    document = Verification(
        certificate=options.certificate,
        data=describe_data(
            options.data, table, response, n_covariates=saved.certificates[0].covariates.size
        ),
        verified=found is not None,
        undecided=undecided,
        rtol=options.rtol,
        reason=reason,
        classes=saved.classes_.tolist(),
        outputs=list(saved.outputs),
        class_weight=saved.class_weight.tolist(),
        claims=_describe_claims(saved, found, table),
        seconds=work.seconds["total"],
        notes=work.notes,
    )
    with readers_may_leave():  # the exit code is the same whether anyone reads why
        show_document(document, options, print_verification)
    if found is None:
        raise typer.Exit(_UNDECIDED if undecided else _REFUTED)


def _describe_claims(
    saved: SavedCertificate, found: Sequence[Mapping[str, float]] | None, table: Dataset
) -> list[Claim]:
    """Return what certificates claim, and what was recomputed.

    found : what the verifier returned, None where a certificate claims too much.
    """

    def listed(features: Any) -> list[Feature]:
        return [describe_feature(table, j) for j in features.tolist()]

    claims = []
    for number, (label, certificate) in enumerate(
        zip(saved.positive, saved.certificates, strict=True)
    ):
        claims.append(
            Claim(
                label=label,
                features=listed(certificate.support),
                claimed=persistence.summarize(certificate),
                recomputed=None if found is None else convert(dict(found[number]), Recomputed),
                covariates=listed(certificate.covariates),
                forced=listed(certificate.forced),
                signs=Signs(
                    nonnegative=int((certificate.signs > 0).sum()),
                    nonpositive=int((certificate.signs < 0).sum()),
                ),
                equivalents=describe_equivalents(certificate, table),
            )
        )
    return claims


def _check_columns(table: Dataset, certificate: SavedCertificate, data: str) -> None:
    """Refuse data without an offset or strata that a certificate was made with."""
    known = certificate.metadata["columns"]
    offset = {"offset", "exposure"}
    for role in ROLES:
        there = table.columns.keys() & (offset if role in offset else {role})
        if role in known and not there and role != "cv_groups":
            raise ValueError(
                f"{data}: the certificate was made with the {role} {quote(known[role])}, which is "
                f"not there; say where it is with --{role}."
            )


def _check_names(table: Dataset, certificate: SavedCertificate, data: str) -> None:
    """Refuse data whose selected features have other names than those of a certificate."""
    if table.feature_names is None or certificate.feature_names is None:
        return
    for j, name in zip(certificate.columns.tolist(), certificate.feature_names, strict=True):
        found = table.feature_names[j] if j < len(table.feature_names) else ""
        if found != name:
            raise ValueError(
                f"{data}: feature {j} (from 0) must be {quote(name)}, as in the certificate; got "
                f"{quote(found)}. Verify with the data of the selection, its columns in order."
            )
