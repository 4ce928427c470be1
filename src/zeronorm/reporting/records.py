"""Records of what was found: what `--json` prints, a model file keeps, text and pages show.

A command that prints JSON prints one of these records, `Report` is what a model file keeps. Types
say what a field may be: None is a number that is not known, or one that is not finite, as JSON has
neither; a field that may be UNSET is left out of the JSON where it is. `schema()` is the JSON
Schema of all documents, made from the types and the docstrings.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ..persistence.archive import check
from ..persistence.records import Certified

Label: TypeAlias = str | int | float | bool | None
Task: TypeAlias = Literal["classes", "ordered", "numbers", "counts", "survival"]
Effect: TypeAlias = float | list[float]  # of several outputs one each
Ratio: TypeAlias = float | list[float | None] | None
Phases: TypeAlias = dict[str, float]  # seconds by phase, and their total
Interval: TypeAlias = Annotated[list[float], Meta(min_length=2, max_length=2)]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base class of all records."""


class Document(Record, frozen=True, kw_only=True):
    """Base class of what a command prints.

    schema : another number where a key goes, or means something else.
    """

    schema: Literal[1] = 1


def as_json(record: msgspec.Struct) -> dict[str, Any]:
    """Return a record as values of JSON; NaN and infinity stay, which `json.dumps` can refuse."""
    return dict(msgspec.to_builtins(record, str_keys=True, enc_hook=str))  # notes are kinds of str


# The data.


class Span(Record, frozen=True, kw_only=True):
    """The range of a response."""

    least: float
    largest: float
    mean: float


class Range(Record, frozen=True, kw_only=True):
    """The range of a target that is not of classes.

    events : samples with the event, of survival times.
    exposure : the sum over the samples, of counts.
    responses : of several targets one each; then there are no other fields but exposure.
    """

    least: float | UnsetType = UNSET
    largest: float | UnsetType = UNSET
    mean: float | UnsetType = UNSET
    events: int | UnsetType = UNSET
    strata: int | UnsetType = UNSET
    responses: list[Span] | UnsetType = UNSET
    exposure: float | UnsetType = UNSET


class CodedColumn(Record, frozen=True, kw_only=True):
    """The kind of a column that is coded as features, and the levels of a category."""

    kind: str
    levels: list[str]


class DataRead(Record, frozen=True, kw_only=True):
    """The data as they were read.

    n_features : columns, covariates among them.
    n_covariates : columns that are covariates of the models.
    n_groups : groups of the features; null without groups.
    target : the name, or those of several responses.
    class_counts : samples by class.
    guess : why the target was taken for this task; null where the user named the task.
    columns : names of columns by their role, such as time, event, exposure.
    coded : columns of text and dates, which are features in another form.
    filled : cells that were empty, by column.
    """

    source: str
    n_samples: int
    n_features: int
    n_covariates: int
    n_groups: int | None
    storage: str
    target: str | list[str] | None
    class_counts: dict[str, int]
    task: Task | None
    guess: str | None
    columns: dict[str, str]
    coded: dict[str, CodedColumn]
    filled: dict[str, float]
    range: Range | None


class Feature(Record, frozen=True, kw_only=True):
    """A feature, or a group of features.

    index : of the column, or of the group, from 0.
    """

    index: int
    name: str
    description: str | None


class Duplicates(Record, frozen=True, kw_only=True):
    """A selected feature, and the features that equal it."""

    feature: Feature
    equivalents: list[Feature]


# Certificates, proofs and other feature sets.


class Searched(Record, frozen=True, kw_only=True):
    """The end of a branch and bound.

    status : a name of zeronorm.core.results.Status.
    improved : whether it found a better feature set.
    """

    status: str
    reason: str
    nodes: int
    seconds: float
    improved: bool
    equivalents: list[Duplicates]


class NearFeature(Feature, frozen=True, kw_only=True):
    """A feature of near-optimal feature sets, and how many of them have it."""

    n_lists: int


class NearSet(Record, frozen=True, kw_only=True):
    """A near-optimal feature set.

    worse_by : the share by which its objective is above the best.
    cost : the sum over its features, by --cost.
    """

    objective: float
    worse_by: float
    cost: float | None
    features: list[str]


class NearSets(Record, frozen=True, kw_only=True):
    """The feature sets of a size whose objective is near the best.

    within : the share of the best objective up to which feature sets are listed.
    complete : whether none is missing.
    complete_within : the share up to which none is missing.
    cheapest, given : the places of the cheapest set and of the given one, from 0.
    features : of all sets, those in most of them first.
    lists : the best first.
    """

    within: float
    limit: int
    complete: bool
    complete_within: float
    status: str
    cheapest: int | None
    given: int | None
    features: list[NearFeature]
    lists: Annotated[list[NearSet], Meta(min_length=1)]
    file: str | None


class WholeGroups(Record, frozen=True, kw_only=True):
    """Whole groups: those given, and the best that are known."""

    given: list[str]
    best: list[str]


# The models of a selection.


class Term(Feature, frozen=True, kw_only=True):
    """A feature with its coefficients.

    class : the class, against the others; null: one model of all classes, or no classes.
    coefficient : per unit; one for each of several outputs.
    coefficient_per_sd : what one standard deviation adds to the score.
    ratio : the exponential of the coefficient where it is a ratio (of odds, rates, hazards, means),
        per unit; null where it is no ratio, or not finite.
    ratio_per_sd : the same for one standard deviation.
    """

    label: Label = msgspec.field(name="class")
    coefficient: Effect
    coefficient_per_sd: Effect
    ratio: Ratio
    ratio_per_sd: Ratio


class Selected(Term, frozen=True, kw_only=True):
    """A selected feature.

    rank : by the effect of one standard deviation, from 1.
    block : when it entered, as the method counts.
    point : the point of an l1 path at which it entered.
    """

    rank: int
    block: int | UnsetType = UNSET
    point: int | UnsetType = UNSET
    group: str | UnsetType | None = UNSET


class Calibrated(Record, frozen=True, kw_only=True):
    """The scale of the margins, and the held-out log-losses of classes.

    base_log_loss : without features; left out by info.
    """

    scale: float
    cv_log_loss: float | None
    base_log_loss: float | UnsetType | None = UNSET


class HeldOutScores(Record, frozen=True, kw_only=True):
    """Held-out scores of a size, by folds that repeat the whole selection.

    scores : of every fold.
    baseline : the score without features.
    deviance : the mean loss of a held-out sample, of the kind deviance_name.
    advantage : over the model without features, in AUC or deviance.
    compared : the number of sizes from which these folds chose one.
    limit_of_chance : the standard errors that an advantage by chance exceeds once in 20 studies.
    """

    folds: int
    mean: float
    standard_error: float
    scores: list[float]
    baseline: float
    balanced_accuracy: float | None
    auc: float | None
    rmse: float | None
    deviance: float | None
    balanced_accuracy_error: float | None
    auc_error: float | None
    rmse_error: float | None
    deviance_error: float | None
    baseline_rmse: float | None
    deviance_name: Literal["log_loss", "squared_error", "deviance", "partial_likelihood"] | None
    baseline_deviance: float | None
    advantage: float | None
    advantage_error: float | None
    compared: int
    limit_of_chance: float
    better_than_chance: bool


class Permuted(Record, frozen=True, kw_only=True):
    """A permutation test."""

    n_permutations: int
    p_value: float
    statistic: str
    own: float
    permuted: list[float]


class MeasureBound(Record, frozen=True, kw_only=True):
    """A lower bound on the training objective of a measure."""

    objective: float
    bound: float
    gap: float
    n_forced: int


class ModelFound(Record, frozen=True, kw_only=True):
    """The model of a size.

    size : what was asked for: a number of features, or of whole groups.
    n_features : of the model; of whole groups the features in them.
    intercept : of every score.
    thresholds : between ordered classes.
    refit_C : the weight of the loss in the final fit; null: infinite.
    training_accuracy, training_score : on the training data, of classes or of other targets.
    training_scores : of each of several responses.
    offset_score : of the offset without features.
    for_accuracy : in the measure, of a selection for accuracy.
    certificates, proofs, bounds : one for each problem; null where there is none.
    file : where the model was written.
    """

    size: int
    n_features: int
    n_groups: int | None
    features: list[Selected]
    covariates: list[Term]
    intercept: list[float]
    thresholds: list[float] | None
    refit_C: list[float | None]
    calibration: Calibrated | None
    training_accuracy: float | UnsetType = UNSET
    training_score: float | UnsetType = UNSET
    training_scores: list[float] | UnsetType = UNSET
    offset_score: float | UnsetType = UNSET
    measure: str | None
    training_measure: float | None
    cross_validation: HeldOutScores | None
    for_accuracy: HeldOutScores | None
    permutations: Permuted | None
    certificates: list[Certified | None]
    proofs: list[Searched | None]
    bounds: list[MeasureBound | None]
    file: str | None = None
    certificate_file: str | None = None

    @property
    def on_training(self) -> float:
        """The measure on the training data, or the accuracy or score."""
        known = (self.training_measure, self.training_accuracy, self.training_score)
        return next(one for one in known if isinstance(one, float))

    def __post_init__(self) -> None:
        """Check that each problem has its certificate, proof and bound."""
        sizes = {len(self.certificates), len(self.proofs), len(self.bounds)}
        check(len(sizes) == 1, "certificates, proofs and bounds must be one for each problem")


class Criteria(Record, frozen=True, kw_only=True):
    """Information criteria of a size; null: not finite."""

    size: int | list[int]
    log_loss: float | None
    aic: float | None
    bic: float | None
    ebic: float | None
    gic: float | None


class Stable(Feature, frozen=True, kw_only=True):
    """The shares of the half-samples, and of their pairs, that choose a feature or group."""

    frequency: float
    by_both: float
    stable: bool
    in_model: bool


class StabilityFound(Record, frozen=True, kw_only=True):
    """The features that half-samples choose.

    unit : what is counted.
    n_left_out : further pairs of which a half has no model.
    n_rows : samples of a half.
    n_chosen : features that each half chooses.
    expected_low : the number of stable features that are expected at most to be there by chance.
    index : Nogueira's stability; null where halves choose all features.
    interval : of the index, at 95%.
    features : those that a half chooses and those of the model, the most frequent first.
    """

    unit: Literal["features", "groups"]
    n_pairs: int
    n_left_out: int
    n_rows: int
    n_chosen: int
    n_candidates: int
    threshold: float
    n_stable: int
    expected_low: float
    index: float | None
    interval: Annotated[list[float | None], Meta(min_length=2, max_length=2)]
    features: list[Stable]


class Category(Record, frozen=True, kw_only=True):
    """A column of text that --force or --covariates names."""

    option: Literal["--force", "--covariates"]
    column: str
    levels: int
    features: int


class ByFolds(Record, frozen=True, kw_only=True):
    """The parameter that the folds of a fit chose, and their number."""

    parameter: Literal["C", "method"]
    folds: int


class Interrupted(Record, frozen=True, kw_only=True):
    """An interrupt by Ctrl-C, and the sizes that are not finished."""

    during: Literal["selection", "cross-validation", "comparison of penalties", "stability"]
    lacking: list[int]


class SelectionFound(Document, frozen=True, kw_only=True):
    """Result of zeronorm select, and of cv, which writes no model.

    score : the name of the scores.
    parameters : of the estimator and its method, with their defaults.
    outputs : classes or responses that share their features.
    models : of every size, growing.
    rule : what chose the size; null: there is one.
    chosen : the size that was chosen; with rule all the largest.
    chosen_by : the held-out score that chose.
    stability : by --stability.
    n_scans : passes over the data.
    notes : what a user should know about the run.
    """

    zeronorm: str
    data: DataRead
    score: Literal["accuracy", "r2", "d2", "c_index"]
    parameters: dict[str, Any]
    classes: list[Label]
    outputs: list[Label]
    by_folds: ByFolds | None
    models: list[ModelFound]
    categories: list[Category]
    n_covariates: int
    criteria: list[Criteria]
    rule: Literal["1se", "best", "aic", "bic", "ebic", "gic", "all", "cross-validation"] | None
    chosen: int
    chosen_by: str | None
    stability: StabilityFound | None
    interrupted: Interrupted | None
    n_scans: int
    features_file: str | None
    seconds: Phases
    notes: list[str]

    @property
    def loss(self) -> str:
        """The loss that coefficients are of; "" where classes share them or for a measure."""
        if self.outputs and self.classes:
            return "multinomial"
        return str(self.parameters.get("loss", ""))

    def model_of(self, size: int) -> ModelFound:
        """Return the model of a size."""
        (found,) = (one for one in self.models if one.size == size)
        return found


# How sure a selection is.


class Members(Record, frozen=True, kw_only=True):
    """The number of features of a group, and the first of them."""

    n_features: int
    first: list[str]


class SubstitutesFound(Record, frozen=True, kw_only=True):
    """Substitutes of a selected feature, or group.

    index : the feature, or the name of the group.
    without, costs : the share by which the objective grows without it, and with each substitute.
    score, score_without, scores : held-out, of the model, without it, with each substitute; null
        without folds.
    n_exchangeable : substitutes whose cost is at most `within`; proven: that no more exist.
    """

    index: int | str
    without: float
    names: list[str]
    members: list[Members | None]
    costs: list[float]
    score: float | None
    score_without: float | None
    error_without: float | None
    scores: list[float]
    errors: list[float]
    within: float
    n_exchangeable: int
    proven: bool

    def __post_init__(self) -> None:
        """Check that there is one entry for each substitute that is named."""
        n, scored = len(self.names), {len(self.scores), len(self.errors)}
        right = len(self.members) == len(self.costs) == n and scored in ({0}, {n})
        check(right, "substitutes must have a name, members, a cost and perhaps a score each")


class Improvement(Searched, frozen=True, kw_only=True):
    """The end of a search for a better feature set, and what that has and lacks.

    gain : the share by which its objective is lower.
    """

    certificate: Certified | None
    objective_given: float
    gain: float
    added: list[str]
    dropped: list[str]


class SizeTrust(Record, frozen=True, kw_only=True):
    """The alternatives to the model of a size, for each problem."""

    substitutes: list[list[SubstitutesFound]]
    proofs: list[Improvement]  # none where nothing was searched


class Trust(Record, frozen=True, kw_only=True):
    """How sure a selection is.

    reason : why half-samples have no models.
    models : by size; none where no bounds are known.
    near : near-optimal feature sets of the chosen size, for each problem.
    compared_by : the score that compares substitutes, where it is not the usual one.
    moves : by size and problem, the standard deviation that each group adds to the scores.
    """

    unit: Literal["features", "groups"]
    stability: StabilityFound | None = None
    reason: str | None = None
    models: dict[int, SizeTrust] = {}
    near: list[NearSets] | None = None
    compared_by: str | None = None
    moves: dict[int, list[dict[str, float]]] = {}


class Report(Record, frozen=True, kw_only=True):
    """The report of a selection that a model file keeps.

    leaks : the places of the notes that make the whole result doubtful.
    """

    selection: SelectionFound
    trust: Trust
    leaks: list[int]


# The documents of the other commands.


class PathPoint(Record, frozen=True, kw_only=True):
    """A point of an l1 path.

    explained : the share of the loss that the features take away.
    """

    point: int
    C: float
    n_features: int
    explained: float
    gap: float
    score: float | UnsetType = UNSET
    standard_error: float | UnsetType = UNSET


class Entry(Feature, frozen=True, kw_only=True):
    """A feature, and the point of a path at which it enters, from 1."""

    label: Label = msgspec.field(name="class")
    point: int
    C: float


class ChosenPoint(Record, frozen=True, kw_only=True):
    """The model that the cross-validation of a path chooses."""

    point: int
    best_point: int
    rule: str
    C: float
    n_features: int
    features: list[Selected]
    intercept: list[float]


class PathFound(Document, frozen=True, kw_only=True):
    """Result of zeronorm path."""

    zeronorm: str
    data: DataRead
    parameters: dict[str, Any]
    classes: list[Label]
    path: list[PathPoint]
    entered: list[Entry]
    chosen: ChosenPoint | None
    n_scans: int
    seconds: Phases
    file: str | None
    notes: list[str]


class BlocksUsed(Record, frozen=True, kw_only=True):
    """Samples that belong together.

    column : whose values name the blocks.
    correlation : of two errors of a block; null where means of blocks are compared.
    """

    column: str
    n_blocks: int
    correlation: float | None


class Discovered(Feature, frozen=True, kw_only=True):
    """A feature with enough votes.

    votes : the share of the experiments in which it entered.
    stand_in : the probability that a correlated feature is meant.
    rival : the likeliest of these.
    found : whether it is a discovery.
    """

    votes: float
    stand_in: float
    rival: Feature | None
    found: bool


class DiscoveriesFound(Document, frozen=True, kw_only=True):
    """Result of zeronorm discover.

    estimate : of the share of false ones among the discoveries; 0 where there are none.
    n_dummies : in each experiment.
    n_entered : dummies after which each experiment ended.
    features : with enough votes, the least doubtful first.
    """

    data: DataRead
    fdr: float
    estimate: float
    n_found: int
    n_candidates: int
    n_dummies: int
    n_experiments: int
    n_entered: int
    least_votes: float
    covariates: list[Feature]
    blocks: BlocksUsed | None
    features: list[Discovered]
    features_file: str | None = None
    seconds: Phases = {}
    notes: list[str] = []


class CertifiedSet(Document, frozen=True, kw_only=True):
    """Result of zeronorm certify and prove.

    features : the given feature set.
    best : the best that is known; dropped and added are the differences.
    near_optimal : by --within of prove.
    """

    data: DataRead
    groups: WholeGroups | None
    features: list[Feature]
    best: list[Feature]
    dropped: list[Feature]
    added: list[Feature]
    objective_given: float
    certificate: Certified | None
    equivalents: list[Duplicates]
    proof: Searched | None
    near_optimal: NearSets | UnsetType | None = UNSET
    file: str | None = None
    seconds: Phases = {}
    notes: list[str] = []


class Recomputed(Record, frozen=True, kw_only=True):
    """Recomputed figures of a certificate.

    rounding : by how much they may be off.
    """

    objective: float
    bound: float
    gap: float
    rounding: float
    nodes: int


class Signs(Record, frozen=True, kw_only=True):
    """The number of features whose coefficients must have a sign."""

    nonnegative: int
    nonpositive: int


class Claim(Record, frozen=True, kw_only=True):
    """The claim of a certificate, and its recomputation; null: refuted or undecided."""

    label: Label = msgspec.field(name="class")
    features: list[Feature]
    claimed: Certified | None
    recomputed: Recomputed | None
    covariates: list[Feature]
    forced: list[Feature]
    signs: Signs
    equivalents: list[Duplicates]


class Verification(Document, frozen=True, kw_only=True):
    """Result of zeronorm verify.

    reason : why the certificate is refuted or undecided.
    """

    certificate: str
    data: DataRead
    verified: bool
    undecided: bool
    rtol: float
    reason: str | None
    classes: list[Label]
    outputs: list[Label]
    class_weight: list[float]
    claims: list[Claim]
    seconds: float
    notes: list[str]


class ThresholdUsed(Record, frozen=True, kw_only=True):
    """The probability, or score, from which a sample is of the positive class of two.

    positive : the place of that class among the sorted ones.
    rule : the number itself, or "tuned for SCORE".
    """

    positive: int
    probability: float | None
    score: float | None
    rule: str


class PredictionInterval(Record, frozen=True, kw_only=True):
    """The interval around each prediction.

    share : of samples like those of the training that are inside, about.
    n_errors : held-out samples whose errors give the width.
    inside : the share of these samples that is inside, where their target is known.
    """

    share: float
    half_width: float
    n_errors: int
    inside: float | None


class Predictions(Document, frozen=True, kw_only=True):
    """Result of zeronorm predict.

    threshold : null: 1/2.
    probabilities : of every sample, in the order of the classes.
    times, survival : times, and the probabilities of no event up to them.
    confusion : rows: true classes; columns: predicted ones.
    """

    model: str
    data: DataRead
    classes: list[Label]
    threshold: ThresholdUsed | None
    interval: PredictionInterval | None
    responses: list[str]
    loss: str | None
    times: list[float]
    predictions: list[Any]
    probabilities: list[list[float]] | None
    survival: list[list[float]] | None
    accuracy: float | None
    confusion: list[list[int]] | None
    score: float | None
    score_name: str | None
    file: str | None
    notes: list[str]


class Score(Record, frozen=True, kw_only=True):
    """A score, and that of a model without features; null: not defined, or not finite.

    interval : both ends, at 95%.
    """

    name: str
    value: float | None
    standard_error: float | None
    baseline: float | None
    advantage_error: float | None
    interval: Interval | None


class ClassScores(Record, frozen=True, kw_only=True):
    """Recall and precision of a class; null where no sample is of it, or predicted so."""

    label: Label = msgspec.field(name="class")
    n_samples: int
    recall: float | None
    recall_interval: Interval | None
    precision: float | None


class ResponseScores(Record, frozen=True, kw_only=True):
    """The explained share of a response, and errors in its unit."""

    response: str
    score: float | None
    rmse: float | None
    mae: float | None


class Evaluation(Document, frozen=True, kw_only=True):
    """Result of zeronorm evaluate.

    threshold : null: 1/2.
    confusion : rows: true classes; columns: predicted ones.
    """

    model: str
    data: DataRead
    loss: str | None
    classes: list[Label]
    threshold: ThresholdUsed | None
    scores: list[Score]
    confusion: list[list[int]] | None
    by_class: list[ClassScores] | None
    by_response: list[ResponseScores] | None
    notes: list[str]


class PageWritten(Document, frozen=True, kw_only=True):
    """Result of zeronorm report with --output.

    n_features : of the model.
    sizes : numbers of features that the page compares.
    computed : what the model file lacked, and DATA gave.
    """

    model: str
    data: DataRead
    n_features: int
    sizes: list[int]
    file: str
    n_bytes: int
    computed: list[str]
    seconds: Phases
    notes: list[str]


class ModelFile(Document, frozen=True, kw_only=True):
    """Content of a model file, by zeronorm info.

    format : of the file.
    columns : names of columns by their role; where: the comparisons that chose the rows.
    support : columns of the selected features, from 0.
    features : columns of the coefficients: covariates are among them.
    n_samples : from which the model was selected; null: not known.
    """

    format: int
    zeronorm: str
    created: str
    estimator: str
    parameters: dict[str, Any]
    n_features_in: int
    feature_names: list[str] | None
    first_index: int
    target_name: str | list[str] | None
    columns: dict[str, str]
    codings: list[dict[str, Any]]
    refit_C: list[float | None]
    certificates: list[Certified | None]
    history: list[list[dict[str, Any]]]
    solutions: list[dict[str, Any]]
    criteria: list[Criteria]
    calibration: Calibrated | None
    threshold: ThresholdUsed | None
    feature_groups: list[int | str] | None
    covariates: list[int]
    loss: dict[str, Any] | None
    highest_score: float | None
    means: list[float] | None
    n_samples: int | None
    errors: dict[str, Any] | None
    offset: bool
    classes: list[Label]
    support: list[int]
    features: list[int]
    coef: list[list[float]]
    intercept: list[float]


class Column(Record, frozen=True, kw_only=True):
    """A column of a table as it stands.

    kind : text has too many values for a category; `problem` says why a column is unusable.
    constant : whether it has one value or none.
    missing : empty cells.
    distinct : different values; null of numbers that are not all whole.
    """

    name: str
    kind: Literal["number", "category", "date", "text", "unusable"]
    problem: str | None
    constant: bool
    missing: int
    distinct: int | None
    least: float | None
    largest: float | None


class TargetColumn(Record, frozen=True, kw_only=True):
    """A column of few values, which could be classes, and the rows of each value."""

    column: str
    counts: dict[str, int]


class Columns(Record, frozen=True, kw_only=True):
    """The columns of a table as they stand.

    rows_with_gaps : rows with an empty cell in a column that has values.
    """

    columns: list[Column]
    rows_with_gaps: int
    targets: list[TargetColumn]


class DataFile(Document, frozen=True, kw_only=True):
    """Content of data, and the memory for a selection from them, by zeronorm info.

    table : null where the data are no table.
    memory : bytes by use.
    available : null where that is not known.
    """

    source: str
    n_samples: int
    n_features: int
    storage: str
    note: str | None
    layers: list[str]
    columns: list[str]
    table: Columns | None
    classes: list[Label]
    features: int
    method: str
    memory: dict[str, int]
    total: int
    available: float | None
    fits: bool
    notes: list[str]


class Installation(Document, frozen=True, kw_only=True):
    """Versions, by zeronorm info."""

    zeronorm: str
    threads: int
    python: str
    numpy: str
    scipy: str
    scikit_learn: str = msgspec.field(name="scikit-learn")
    platform: str


class DamagedFile(Record, frozen=True, kw_only=True):
    """A damaged file of a store.

    columns : first and last; null: names or samples.
    """

    file: str
    columns: list[int] | None
    reason: str


class StoreChecked(Document, frozen=True, kw_only=True):
    """Result of zeronorm info --check."""

    source: str
    files: int
    damage: list[DamagedFile]


class StoreWritten(Document, frozen=True, kw_only=True):
    """Result of zeronorm convert.

    columns : those that stay with the samples.
    resumed : features that an earlier run had written.
    """

    path: str
    shape: list[int]
    is_sparse: bool
    dtype: str
    columns: list[str]
    resumed: int
    notes: list[str]


DOCUMENTS: dict[str, tuple[type[Document], ...]] = {
    "select": (SelectionFound,),
    "cv": (SelectionFound,),
    "path": (PathFound,),
    "discover": (DiscoveriesFound,),
    "certify": (CertifiedSet,),
    "prove": (CertifiedSet,),
    "verify": (Verification,),
    "predict": (Predictions,),
    "evaluate": (Evaluation,),
    "report": (PageWritten, SelectionFound),
    "convert": (StoreWritten,),
    "info": (ModelFile, DataFile, Installation, StoreChecked),
}  # by the command that prints them


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of all documents, with a definition per command."""
    kinds = [*dict.fromkeys(kind for own in DOCUMENTS.values() for kind in own), Report]
    _, found = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for one in found.values():
        text, _, fields = one.pop("description", "").partition("\n\n")
        one["description"] = " ".join(text.split())
        for names, said in _FIELD.findall(fields):
            for name in names.split(", "):
                one["properties"][name]["description"] = " ".join(said.split())
    of_command = {
        command: {"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in own]}
        for command, own in DOCUMENTS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Documents of zeronorm --json",
        "anyOf": [{"$ref": f"#/$defs/{command}"} for command in DOCUMENTS],
        "$defs": found | of_command,
    }


# A field of a docstring, or several, and what it says of them, on further lines indented.
_FIELD = re.compile(r"^(\w+(?:, \w+)*) : (.+(?:\n +.+)*)", re.MULTILINE)
