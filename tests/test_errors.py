"""Errors by class and field: what Python says of them, and what a command does."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from zeronorm import BudgetClassifier, BudgetRegressor, L1Classifier
from zeronorm.cli.messages import OPTIONS, OptionWords
from zeronorm.core.budgets import UnfittableError
from zeronorm.core.errors import (
    Column,
    InPython,
    Message,
    Named,
    Parameter,
    ParameterError,
    message_of,
)
from zeronorm.core.validation import (
    check_count,
    check_flag,
    check_gap,
    check_grid,
    check_option,
    check_positive,
    check_ratio,
    check_refit_penalty,
    check_seed,
    check_share,
)
from zeronorm.inference.half_samples import LoneRowError
from zeronorm.model_selection.cross_validation import cross_validate

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 4))
Y = np.where(X[:, 0] > 0, "yes", "no")
FLAT = np.column_stack([X, np.ones(24)])
HUGE = np.column_stack([X, 1e200 * X[:, 0]])


def fit(kind=BudgetClassifier, X=X, y=Y, **given):
    """Return a function that fits."""
    return lambda: kind(**{"n_features": 2, "calibrate": False, **given}).fit(X, y)


# What is wrong; the class, the parameter and what was got; the first words of a command.
TABLE = {
    "a count": (lambda: check_count("n_threads", -1), "n_threads", "-1",
                "--threads must be an integer of at least 1; got -1."),
    "a number": (lambda: check_positive("C", "big"), "C", "'big'",
                 "--C must be a positive finite number; got 'big'."),
    "a ratio": (lambda: check_ratio("C_ratio", 1), "C_ratio", "1",
                "C_ratio must be a number above 1; got 1."),
    "a share": (lambda: check_share("l1_ratio", 2), "l1_ratio", "2",
                "--l1-ratio must be above 0 and at most 1; got 2."),
    "a gap": (lambda: check_gap("gap", 2), "gap", "2", "--gap must be at most 1, the gap of a"),
    "a flag": (lambda: check_flag("standardize", 1), "standardize", "1",
               "--standardize must be True or False; got 1."),
    "an option": (lambda: check_option("criterion", "x", [None, "aic", "bic"]), "criterion", "'x'",
                  "--rule must be one of 'aic', 'bic'; got 'x'."),
    "a penalty": (lambda: check_refit_penalty("cv"), "refit_C", "'cv'",
                  "--refit-c must be 'loo' or a positive finite number; got 'cv'."),
    "a grid": (lambda: check_grid([2, 1]), "Cs", "1 after 2", "Cs must grow; got 1 after 2."),
    "a seed": (lambda: check_seed(-1), "random_state", "-1", "random_state must be"),
    "features": (fit(forced_features=[9]), "forced_features", "9",
                 "--force must be between 0 and 3 (the columns of DATA); got 9."),
    "weights": (fit(class_weight="equal"), "class_weight", "'equal'",
                "--class-weight must be 'balanced'; got 'equal'."),
    "a loss": (fit(BudgetRegressor, y=-np.ones(24), loss="poisson"), "y", "-1 at row 0",
               "the target must be not negative for --loss poisson; got -1 at row 0. Remove such "
               "rows, or use --loss least_squares."),
    "one class": (fit(y=["a"] * 24), "y", "one class: 'a'",
                  "the target must have at least two classes; got one class: 'a'."),
    "text": (fit(X=np.array([["a", 1.0]] * 24, object)), "X", "the text 'a' at row 0, column 0",
             "DATA must hold numbers; got the text 'a' at row 0, column 'g0'."),
    "large": (lambda: L1Classifier().fit(HUGE, Y), "X", None,
              "DATA has values too large in column 'g4'"),
    "covariates": (fit(covariates=[1], forced_features=[1]), "covariates", "column 1 in both",
                   "--covariates are in every model and must not be --force as well; got column "
                   "'g1' in both."),
    "constants": (fit(X=FLAT, covariates=[4]), None, None,
                  "--covariates must not be constant columns of DATA; got column 'g4'."),
    "spreads": (fit(X=X * [1, 1, 1, 1e60], standardize=False), None, None,
                "--no-standardize needs columns of "),
    "sizes": (fit(n_features=9), "n_features", "9",
              "--features must be between 1 and 4 (the features of DATA); got 9."),
    "groups": (lambda: cross_validate(BudgetClassifier(2), X, Y, groups=[1, 2]), "groups",
               "shape (2,)", "--cv-groups must be a label for every sample (24); got shape (2,)."),
    "folds": (lambda: cross_validate(BudgetClassifier(2), X, Y, cv=99), "cv", "99",
              "--cv must be between 2 and "),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_errors_carry_fields(case):
    """A command would have to guess the parameter from prose, and columns have no names there."""
    wrong, name, got, told = TABLE[case]
    with pytest.raises(ValueError, match=r".") as caught:
        wrong()
    error = caught.value
    if name is not None:
        assert isinstance(error, ParameterError)
        assert (error.name, got is None or str(error.got) == got) == (name, True)
        assert str(error).startswith(f"{name} {error.rule}")
    assert message_of(error).said(OptionWords([f"g{j}" for j in range(9)])).startswith(told)


def errors():
    """Yield an error of every kind that has fields."""
    yield ParameterError("n_threads", Message("must be ", InPython("None or "), "1"), "2", "Do.")
    yield UnfittableError(Message(Parameter.of("C", 1), " in ", Column(3)), "rows")
    yield LoneRowError("ill", "groups")
    yield ValueError(Message("values of ", Parameter("X")))
    yield UserWarning(Message(Parameter("tol"), " is too small"))


@pytest.mark.parametrize("error", [*errors()], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "same", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_errors_are_copied_with_their_fields(error, same):
    """Workers of joblib and Dask send errors as pickles: they would end in a TypeError there."""
    other = same(error)
    assert (type(other), str(other)) == (type(error), str(error))
    assert message_of(other).parts == message_of(error).parts
    assert vars(other) == vars(error)


def test_messages_have_the_words_of_their_readers():
    """A value would be quoted on a command line, or None be offered where nobody can say it."""
    text = Message(
        Parameter.of("standardize", False), " or ", Parameter.of("loss", "poisson"), " of ",
        Parameter("X"), ", ", Column(1), " and ", Column(7), InPython(", or None"),
    )  # fmt: skip
    assert str(text) == "standardize=False or loss='poisson' of X, column 1 and column 7, or None"
    assert text.said(Named(["a", "b"])) == (
        "standardize=False or loss='poisson' of X, column 'b' and column 7, or None"
    )
    told = "--no-standardize or --loss poisson of DATA, column 'b' and column 7"
    assert text.said(OptionWords(["a", "b"])) == told
    wrapped = ValueError(Message("fold 3: ", ValueError(text), "."))
    assert message_of(wrapped).said(OptionWords(["a", "b"])) == f"fold 3: {told}."


def test_names_of_files_and_columns_stay():
    """A file or a column that is called like a parameter would be called otherwise."""
    for text in ("n_features.csv: no column 'n_features'.", "a.csv: C must be a number."):
        assert message_of(ValueError(text)).said(OptionWords(["n_features"])) == text


def test_options_of_parameters_are_there():
    """An error would name an option that no command has."""
    from zeronorm.cli import app, messages

    assert messages.OPTIONS is OPTIONS
    group = __import__("typer").main.get_command(app)
    known = {"DATA", "the target"}
    for name in group.commands:
        for one in group.commands[name].params:
            known |= {*one.opts, *one.secondary_opts}
    for option in OPTIONS.values():
        assert {*option.split(" or ")} <= known, option


def test_warnings_carry_fields():
    """Warnings would name parameters of Python among the notes of a command."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        L1Classifier(n_features=20).fit(RNG.standard_normal((12, 30)), Y[:12])
    told = [message_of(one.message).said(OptionWords(None)) for one in caught]
    assert any(text.startswith("--features 20: within --tol 0.0001 no l1") for text in told), told
