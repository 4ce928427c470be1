"""Save and load fitted models, and certificates with their proofs, without pickle.

A model file is a zip archive in the form of `numpy.savez` (any NumPy reads it) of five arrays:

========= ============================ =========================================================
metadata  (length,) uint8              JSON in UTF-8: versions, names, parameters, certificates,
                                       what the solver did (`history`: a row per step)
classes   (n_classes,) number or str   sorted, or in their order where the loss is ordinal; none of
                                       numbers, counts and survival times
support   (k,) int64                   sorted, each in [0, n_features_in); empty for l1 at most;
                                       covariates, which the metadata list, are among them
coef      (n_scores, k) float64        finite; a score is of two classes, of numbers, of times,
                                       else of every class or response
intercept (n_scores,) float64          finite; 0 of survival times; of three ordered classes or more
                                       minus the thresholds, (n_classes - 1,), beside one score
========= ============================ =========================================================

and, of survival times, three more: `stratum`, `time` and `hazard`, (n_times,) each, are the
cumulative baseline hazards of the strata, one after another, at the score `highest_score` of the
metadata. Where there are no classes, `loss` of the metadata has the name and the parameters of the
loss, and the name of its class where it is not of this package, which nothing ever imports. The
names of columns that are no features are in `columns`, and beside them, as `where`, the comparisons
that chose the rows. `n_samples` is how many rows there were; null: not known.

A model with a budget of features is a refit: for every score the metadata have its `refit_C` and a
certificate, or null (always, of a bi-level model), and for the model in `calibration` the `scale`
that it has been multiplied by (1: by nothing) and its log-loss out of fold, or null. A model of the
l1 family is the solution of one problem, or the refit of its features: its certificates and its
calibration are null, `solutions` has the C, loss, objective and certified gap of the problem, and
`refit_C` is empty without a refit. A bi-level model without a refit has `solutions`, too, objective
and gap null, and no `refit_C`. Beside a budget are the information criteria of all sizes that were
fitted (`criteria`: a row per size; that of a bi-level model is [features, groups]). Where features
are in groups, `feature_groups` has the label of the group of every feature of the support; else it
is null.
`threshold` says from which `probability`, or from which `score` of that class, a row is of the
`positive` one (0 or 1) of two classes, and by which `rule` it was chosen; null: from a probability
of 1/2 on.
`offset` says whether the fit had an offset, which predictions then need.
`errors` has of one target of numbers how many rows out of fold there were, `n`, and their
`absolute` errors in order, at most 1000 of them; null: not known.

`target_name` is the name of the target, of several responses the list of theirs. Where several
classes, or responses, share their features, there is one entry of what there is for each model.

Its archive comment, the last bytes of the file, is `zeronorm model 8 sha256 <digest of all bytes
before>`. The digest finds damage; it proves nothing about who wrote the file, so every size, type,
range and order is verified as well, before anything is allocated for it.

A certificate file is such an archive too (`zeronorm certificate 6 sha256 ...`), with all that
somebody who has the data needs to check it:

============ ========================= =========================================================
metadata     (length,) uint8           JSON in UTF-8: versions, size and names of the data, and for
                                       every certificate its problem and its figures
classes      (n_classes,)              sorted, or in order; none of numbers, counts and times
class_weight (n_classes,) float64      positive: the weight of a row of each class
============ ========================= =========================================================

and for every certificate i (one for two classes, whose second counts as +1, for none, and for
classes that share their features; else one for each class against the others) support_i, coef_i,
dual_i, forced_i and, of its tree, parent_i, feature_i, inside_i, row_i and tree_dual_i, without
rows where there is no tree; and `signs`, (n_features_in,) int8, where coefficients have signs.
Covariates and their coefficients are in the metadata, and the features of the diagonal of a tree,
each with its number, and the minorants of a tree, as lists and numbers. What they mean is said by
`zeronorm.core.results`.
Files of earlier formats are read: models of format 1 are of one response, certificates of formats 1
and 2 of one output, and before models of format 3 and certificates of format 4 coefficients had any
sign and there were no covariates. Before models of format 7 and certificates of format 5 nothing
said what the rows were chosen by, and no bound was of coefficients of a certain size alone
(`max_abs_coef` of a certificate; null: of all). Trees had no minorants before format 6.
"""

from __future__ import annotations

from ..core.files import write_file, writing
from ..core.journal import CheckpointError
from .archive import CertificateFileError, ModelFileError, is_archive
from .certificates import SavedCertificate, load_certificate, save_certificate
from .loaded import LinearModel, LoadedClassifier, LoadedModel, LoadedRegressor, LoadedSurvivalModel
from .models import as_loaded, load, save
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
