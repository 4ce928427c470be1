"""Save and load fitted models, and certificates with their proofs, without pickle.

A file is a record, a dataclass of `zeronorm.persistence.records`, in a zip archive in the form of
`numpy.savez` (any NumPy reads it). `metadata`, (length,) uint8, is the record as JSON in UTF-8,
and for every array in it there is a member with the name of its place, which stands in the JSON for
it: `coef`, `certificates.0.tree.dual`. The annotations of the record say what each field may be,
and a file has exactly its fields. JSON has no infinity and no NaN: null is an infinite C, and a
number that is not known. The record of a model is `ModelRecord`:

========= ============================ =========================================================
classes   (n_classes,) number or str   sorted, or in their order where the loss is ordinal; none of
                                       numbers, counts and survival times
support   (k,) int64                   sorted, each in [0, n_features_in); empty for l1 at most;
                                       `covariates` are among them
coef      (n_scores, k) float64        finite; a score is of two classes, of numbers, of times,
                                       else of every class or response
intercept (n_scores,) float64          finite; 0 of survival times; of three ordered classes or more
                                       minus the thresholds, (n_classes - 1,), beside one score
strata    of survival times            `time` and `hazard`, (n_times,), of each: its cumulative
                                       baseline hazard at the score `highest_score`
========= ============================ =========================================================

Where there are no classes, `loss` has the name and the parameters of the loss, and the name of its
class where it is not of this package, which nothing ever imports. The names of columns that are no
features are in `columns`, and beside them, as `where`, the comparisons that chose the rows.

A model with a budget of features is a refit: for every score it has its `refit_C` and the figures
of a certificate, or null (always, of a bi-level model), and in `calibration` the `scale` that the
model has been multiplied by (1: by nothing) and its log-loss out of fold, or null. A model of the
l1 family is the solution of one problem, or the refit of its features: its certificates and its
calibration are null, `solutions` has the C, loss, objective and certified gap of the problem, and
`refit_C` is empty without a refit. A bi-level model without a refit has `solutions`, too, objective
and gap null, and no `refit_C`. `history` has what the solver did, a row per step, and beside a
budget `criteria` a row per size that was fitted; that of a bi-level model is [features, groups].
Where several classes, or responses, share their features, there is one entry for the model.

`report`, (length,) uint8, is the record of what `zeronorm select` found, as compressed JSON (zlib):
`zeronorm.reporting.records.Report`; empty where the model was saved from Python.

`threshold` says from which `probability`, or from which `score` of that class, a row is of the
`positive` one (0 or 1) of two classes, and by which `rule` it was chosen; null: from a probability
of 1/2 on. `errors` has of one target of numbers how many rows out of fold there were, `n`, and
their `absolute` errors in order, at most 1000 of them; `means` are those of the columns of the
model in the training rows, of which there were `n_samples`; null: not known. `feature_groups` has
the label of the group of every column of the model; null: there are none.

A certificate file has a `CertificateRecord`, all that somebody who has the data needs to check it:

============ ========================= =========================================================
classes      (n_classes,)              sorted, or in order; none of numbers, counts and times
class_weight (n_classes,) float64      positive: the weight of a row of each class
certificates `zeronorm.core.results`   one for two classes, whose second counts as +1, for none, and
             says what they mean       for classes that share their features; else one for each
                                       class against the others; without what all have in common:
groups       of the features, or null  `labels` (n_groups,) and `code` (n_features_in,) int64
signs        (n_features_in,) int8     of coefficients; none where all may have any
============ ========================= =========================================================

The archive comment, the last bytes of the file, is `zeronorm model 9 sha256 <digest of all bytes
before>`, or `zeronorm certificate 7 ...`. The digest finds damage; it proves nothing about who
wrote the file, so every size, type, range and order is verified as well, and no array takes more
memory than it has bytes in the file. Files of other formats are refused.
"""

from __future__ import annotations

from ..core.files import write_file, writing
from ..core.journal import CheckpointError
from .archive import CertificateFileError, ModelFileError, is_archive
from .certificates import SavedCertificate, load_certificate, save_certificate
from .loaded import LinearModel, LoadedClassifier, LoadedModel, LoadedRegressor, LoadedSurvivalModel
from .models import as_loaded, as_plain, load, save
from .records import finite_or_none, summarize, tabulate

__all__ = [
    "CertificateFileError",
    "CheckpointError",
    "LinearModel",
    "LoadedClassifier",
    "LoadedModel",
    "LoadedRegressor",
    "LoadedSurvivalModel",
    "ModelFileError",
    "SavedCertificate",
    "as_loaded",
    "as_plain",
    "finite_or_none",
    "is_archive",
    "load",
    "load_certificate",
    "save",
    "save_certificate",
    "summarize",
    "tabulate",
    "write_file",
    "writing",
]
