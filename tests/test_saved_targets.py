"""Files of models and certificates of numbers, counts and survival times."""

import functools
import sys
from dataclasses import replace

import numpy as np
import pytest

import archives
from archives import parts
from zeronorm import BudgetRegressor, BudgetSurvivalAnalysis, L1Regressor
from zeronorm.losses import NumericLoss, Quantile
from zeronorm.persistence import (
    LoadedRegressor,
    ModelFileError,
    load,
    load_certificate,
    save,
    save_certificate,
)
from zeronorm.persistence.models import MODEL
from zeronorm.verification import CertificateError

rng = np.random.default_rng(0)
X = rng.standard_normal((70, 8))
MARGINS = X[:, 2] - X[:, 5]
NUMBERS = MARGINS + 0.3 * rng.standard_normal(70)
OFFSET = rng.uniform(0.0, 1.0, 70)
COUNTS = rng.poisson(np.exp(0.5 * MARGINS + OFFSET)).astype(float)
TIME = rng.exponential(np.exp(-MARGINS))
SURVIVAL = np.rec.fromarrays([TIME < 2.0, np.minimum(TIME, 2.0)], names="event,time")
TARGETS = [
    ("least_squares", NUMBERS, None),
    ("huber", NUMBERS, OFFSET),
    (Quantile(0.8), NUMBERS, None),
    ("poisson", COUNTS, OFFSET),
    ("gamma", np.exp(NUMBERS), None),
]


class Scaled(NumericLoss):
    """Least squares times a number, as a loss of one's own."""

    name = "scaled"

    def __init__(self, factor):
        self.factor = factor

    def of_rows(self, z, y):
        return 0.5 * self.factor * (z - y) ** 2, self.factor * (z - y)

    def bends(self, z, y):
        return np.full(z.shape, self.factor)

    def interval(self, y):
        return np.full(y.shape, -np.inf), np.full(y.shape, np.inf)

    def conjugates(self, t, y):
        return 0.5 * t * t / self.factor - y * t

    def margins(self, t, y):
        return y - t / self.factor


@pytest.mark.parametrize(("loss", "y", "offset"), TARGETS, ids=lambda one: str(one)[:12])
def test_regressors_predict_the_same_to_the_bit(tmp_path, loss, y, offset):
    """A saved model would predict otherwise, of another size, or without its offset."""
    fitted = BudgetRegressor([1, 2], loss=loss).fit(X, y, offset=offset)
    model = load(save(fitted, tmp_path / "m", columns={"offset": "o"}))
    assert isinstance(model, LoadedRegressor)
    assert model.loss == fitted._loss()
    np.testing.assert_array_equal(model.predict(X, 0), fitted.predict(X, 0))
    np.testing.assert_array_equal(model.predict(X, OFFSET), fitted.predict(X, OFFSET))
    assert model.layout.columns == {"offset": "o"}
    one = load(save(fitted, tmp_path / "m", n_features=1))
    assert one.support_.tolist() == fitted.path_[1].support.tolist()
    with pytest.raises(ValueError, match="offset must be finite"):
        model.predict(X, np.full(70, np.inf))


@pytest.mark.parametrize(("loss", "y", "offset"), TARGETS, ids=lambda one: str(one)[:12])
def test_certificates_of_regressors_are_verified_from_the_file(tmp_path, loss, y, offset):
    """A certificate of numbers would not outlive the session, or hold for other numbers."""
    fitted = BudgetRegressor(2, loss=loss).fit(X, y, offset=offset)
    saved = load_certificate(save_certificate(fitted.certificate_, tmp_path / "c", X, y))
    assert saved.positive == [None]
    assert saved.certificates[0].parameters == fitted.certificate_.parameters
    (found,) = saved.verify(X, y, offset=offset)
    assert found["objective"] == pytest.approx(fitted.certificate_.objective, rel=1e-9)
    with pytest.raises(CertificateError):
        saved.verify(X, 2.0 * y, offset=offset)
    with pytest.raises(ValueError, match=r"70 samples of positive weight, as at the fit; got 69"):
        saved.verify(X, y, offset=offset, sample_weight=np.arange(70.0))


def test_survival_models_of_every_size(tmp_path):
    """Curves of a saved model would be those of another size, or of no model."""
    fitted = BudgetSurvivalAnalysis([1, 2]).fit(X, SURVIVAL)
    for size in (1, 2):
        alone = BudgetSurvivalAnalysis(size).fit(X, SURVIVAL)
        model = load(save(fitted, tmp_path / "m", n_features=size))
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))
        np.testing.assert_array_equal(
            model.predict_survival_function(X, return_array=True),
            alone.predict_survival_function(X, return_array=True),
        )
        curve = model.predict_survival_function(X[:1])[0]
        assert curve(0.7) == alone.predict_survival_function(X[:1])[0](0.7)
    assert not model.intercept_.any()
    saved = load_certificate(save_certificate(fitted.certificate_, tmp_path / "c", X, SURVIVAL))
    saved.verify(X, SURVIVAL)
    late = SURVIVAL.copy()
    late["time"] += np.arange(70)
    with pytest.raises(CertificateError):
        saved.verify(X, late)


def test_strata_have_baselines_of_their_own(tmp_path):
    """A model of strata would be loaded as one without, and its curves be wrong."""
    y = np.rec.fromarrays(
        [SURVIVAL["event"], SURVIVAL["time"], np.arange(70) % 3], names="event,time,stratum"
    )
    fitted = BudgetSurvivalAnalysis(2).fit(X, y)
    model = load(save(fitted, tmp_path / "m"))
    for one, other in zip(model.baseline.at_zero, fitted.cum_baseline_hazard_, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.y, other.y)
    with pytest.raises(ValueError, match="3 strata"):
        model.predict_survival_function(X)


def test_an_infinite_weight_and_an_l1_model(tmp_path):
    """JSON has no infinity: such models could not be saved."""
    bilevel = BudgetRegressor(2, n_groups=2, feature_groups=np.arange(8) // 2).fit(X, NUMBERS)
    lasso = L1Regressor(0.1).fit(X, NUMBERS)
    for fitted, C in ((bilevel, None), (lasso, 0.1)):
        model = load(save(fitted, tmp_path / "m"))
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        assert model.metadata["solutions"][0]["C"] == C


# --- losses of one's own -------------------------------------------------------------------


def test_a_loss_of_ones_own_is_passed_and_never_imported(tmp_path):
    """A file would have a class imported, or a model predict by another loss than its own."""
    fitted = BudgetRegressor(2, loss=Scaled(2.0)).fit(X, NUMBERS)
    path = save(fitted, tmp_path / "m")
    model = load(path, losses=[Scaled(1.0), Scaled(2.0)])
    assert model.loss == Scaled(2.0)
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    message = r"its loss is Scaled\(factor=2.0\) of '.*test_saved_targets.Scaled', .* nothing is"
    for losses in ([], [Scaled(1.0)], [Quantile(0.8)]):
        with pytest.raises(ModelFileError, match=message):
            load(path, losses=losses)
    arrays = parts(path)
    arrays["metadata"]["loss"]["of_class"] = "antigravity.Loss"
    with pytest.raises(ModelFileError, match=r"of 'antigravity.Loss'"):
        load(rewrite(path, arrays), losses=[Scaled(2.0)])
    assert "antigravity" not in sys.modules


def test_losses_that_nobody_could_import_are_not_saved(tmp_path):
    """A model would be saved that nobody can load."""

    class Local(Scaled):
        pass

    for loss, message in (
        (Local(1.0), r"at the top level of a module, .*<locals>.Local. Define it in a module"),
        (Scaled(np.float64(1.0)), None),
    ):
        fitted = BudgetRegressor(1, loss=loss).fit(X, NUMBERS)
        if message is None:
            save(fitted, tmp_path / "m")
        else:
            with pytest.raises(TypeError, match=message):
                save(fitted, tmp_path / "x")
    fitted.loss.factor = np.ones(2)
    with pytest.raises(TypeError, match="stated with finite numbers and text to be saved; got fac"):
        save(fitted, tmp_path / "x")
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


rewrite = functools.partial(archives.rewrite, MODEL)


def test_certificates_have_the_parameters_of_their_loss(tmp_path):
    """A forged width of a loss would be taken from a file, and refuted by nobody."""
    fitted = BudgetRegressor(2, loss="huber").fit(X, NUMBERS)
    forged = replace(fitted.certificate_, parameters={"width": 0.1})
    saved = load_certificate(save_certificate(forged, tmp_path / "c", X, NUMBERS))
    with pytest.raises(CertificateError):
        saved.verify(X, NUMBERS)
    own = BudgetRegressor(2, loss=Scaled(2.0)).fit(X, NUMBERS).certificate_
    with pytest.raises(ValueError, match="loss of the certificate must be 'logistic' or"):
        save_certificate(own, tmp_path / "x", X, NUMBERS)
