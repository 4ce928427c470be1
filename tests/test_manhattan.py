"""Genotypes with scikit-learn and in pictures: rows, copies in other processes, Manhattan plots."""

import base64
import copy
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

import zeronorm
from conftest import slow
from plink import draw, imputed, write_plink
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    read_plink,
    report,
)
from zeronorm.data import Rows, as_design
from zeronorm.plotting import ManhattanDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

N, P = 80, 30
COPIES = draw(N, P, missing=0.02, seed=3)
TRAIT = np.maximum(COPIES[:, 4], 0) - 1.5 * np.maximum(COPIES[:, 21], 0)
TRAIT = TRAIT + 0.3 * np.random.default_rng(0).standard_normal(N)


@pytest.fixture
def genotypes(tmp_path):
    return read_plink(write_plink(tmp_path / "d", COPIES, TRAIT.round(4)))


# ------------------------------------------------------------------- scikit-learn's own tools


@pytest.mark.parametrize("n_jobs", [None, *slow(2)])
def test_scikit_learn_takes_rows_of_a_design(n_jobs, genotypes):
    """Its cross-validation would refuse designs, or see other rows than of an array."""
    X, folds = imputed(COPIES), KFold(4, shuffle=True, random_state=0)
    model = BudgetRegressor(2)
    assert len(genotypes.X) == N
    wanted = cross_val_score(model, X, TRAIT, cv=folds)
    found = cross_val_score(model, genotypes.X, TRAIT, cv=folds, n_jobs=n_jobs)
    assert np.allclose(found, wanted, rtol=1e-5)
    search = GridSearchCV(model, {"n_features": [1, 2]}, cv=folds).fit(genotypes.X, TRAIT)
    assert search.best_params_ == {"n_features": 2}
    predicted = cross_val_predict(model, genotypes.X, TRAIT, cv=folds)
    assert np.allclose(predicted, cross_val_predict(model, X, TRAIT, cv=folds), rtol=1e-4)


@pytest.mark.parametrize("rows", [np.array([5, 2, 60]), [3, 4], slice(2, 70, 3), np.arange(N) > 9])
def test_rows_are_those_of_an_array(rows, genotypes):
    """Rows would be others, or be copied."""
    X = imputed(COPIES)
    for design in (genotypes.X, as_design(X), Rows(genotypes.X, np.arange(N))):
        some = design[rows, ...]
        assert isinstance(some, Rows)
        assert np.array_equal(some.gather(np.arange(P)), X[rows])
        assert np.array_equal(design[rows][[1]].gather(slice(0, 3)), X[rows][[1], :3])


def test_what_is_no_rows_is_refused(genotypes):
    """A row or a column would be taken for something else, or the design become an array."""
    for wrong in (3, (slice(None), 2), np.zeros((2, 2), int)):
        with pytest.raises(TypeError, match="row"):
            genotypes.X[wrong]
    with pytest.raises(IndexError):
        genotypes.X[[N]]
    with pytest.raises(TypeError):
        np.asarray(genotypes.X)


def test_copies_in_other_processes_map_the_file_again(genotypes, tmp_path):
    """A worker would get gigabytes of genotypes in its message, or could not be sent any."""
    X = np.asfortranarray(imputed(COPIES))
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "raw").write_bytes(b"head" + X.astype(np.float32).tobytes("F"))
    large = np.memmap(tmp_path / "raw", np.float32, "r", 4, X.shape, "F")
    for design in (genotypes.X, as_design(str(tmp_path / "x.npy")), as_design(large)):
        for some in (design, design[[4, 3, 2]]):
            sent = pickle.dumps(some)
            assert len(sent) < 9000
            for again in (pickle.loads(sent), copy.deepcopy(some)):
                assert np.array_equal(again.gather(slice(None)), some.gather(slice(None)))
                assert again.feature_names == some.feature_names
    sent = pickle.dumps(as_design(np.memmap(large.filename, np.float32, "r", 4, X.shape, "F")[1:]))
    assert np.array_equal(pickle.loads(sent).gather(slice(None)), X.astype(np.float32)[1:])
    sent = pickle.dumps(genotypes.X)
    with open(tmp_path / "d.bed", "ab") as file:
        file.write(b"more")
    with pytest.raises(OSError, match="the file changed since it was opened"):
        pickle.loads(sent)


def test_a_sample_that_is_there_twice_is_refused(tmp_path):
    """The phenotype of one of them would be taken for that of the other."""
    path = write_plink(tmp_path / "d", COPIES)
    fam = tmp_path / "d.fam"
    fam.write_text(fam.read_text().replace("F1 S3 ", "F1 S2 "))
    with pytest.raises(ValueError, match=r"the sample 'F1 S2' is there twice.*Rename one of them"):
        read_plink(path)


# ---------------------------------------------------------------------------- Manhattan plots


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def words(display):
    """All names that a display shows."""
    return [one.get_text() for one in display.ax_.texts]


def marked(display):
    """The marks of selected variants, as {(x, y): marker}."""
    return {
        place: line.get_marker()
        for line in display.ax_.get_lines()
        if line.get_marker() in "^v"
        for place in zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True)
    }


@pytest.mark.parametrize("standardize", [True, False])
def test_selected_variants_are_marked_where_they_lie(standardize, genotypes):
    """Variants would be drawn elsewhere, with other scores or other signs."""
    model = BudgetRegressor(2, standardize=standardize).fit(genotypes.X, TRAIT)
    assert model.support_.tolist() == [4, 21]
    display = ManhattanDisplay.from_estimator(
        model, genotypes.X, TRAIT, variants=genotypes.variants
    )
    # The oracle: |r| of each variant, by NumPy.
    r = np.abs([np.corrcoef(x, TRAIT)[0, 1] if x.std() else 0.0 for x in imputed(COPIES).T])
    assert display.scores == pytest.approx(r, abs=1e-5)
    x = display.positions_
    assert marked(display) == {(x[4], display.scores[4]): "^", (x[21], display.scores[21]): "v"}
    assert words(display) == ["rs4", "rs21"]
    drawn = [line for line in display.ax_.get_lines() if line.get_marker() == "o"]
    assert sum(line.get_xdata().size for line in drawn) == P - 2
    assert all(line.get_rasterized() for line in drawn)


def test_chromosomes_lie_side_by_side_in_their_order(genotypes):
    """Chromosome 10 would come before 2, or chromosomes overlap or share a colour."""
    variants = np.repeat(genotypes.variants[:1], 12)
    variants["chromosome"] = ["10", "2", "X", "chr1", *["2"] * 8]
    variants["position"] = [5, 9, 7, 3, *range(1, 9)]
    display = ManhattanDisplay(variants=variants, scores=np.ones(12), selected=[], coef=[]).plot()
    assert [one.get_text() for one in display.ax_.get_xticklabels()] == ["chr1", "2", "10", "X"]
    x = display.positions_
    assert x[3] < x[4:].min() <= x[1] < x[0] < x[2]
    assert np.diff(x[4:]) == pytest.approx(1.0)
    colours = [line.get_color() for line in display.ax_.get_lines()]
    assert colours[0] == colours[2] != colours[1] == colours[3]


def test_every_target_has_a_plot(genotypes):
    """A target would have no picture, or scores that are no numbers."""
    three = np.digitize(TRAIT, [-1.0, 0.3])
    times = np.zeros(N, [("event", bool), ("time", float)])
    times["event"], times["time"] = True, np.exp(-TRAIT)
    for model, y in (
        (BudgetSurvivalAnalysis(2), times),
        (BudgetClassifier(2, calibrate=False), three),
        (BudgetClassifier(2, multi_class="ovr", calibrate=False), three),
        (BudgetRegressor(2), np.column_stack([TRAIT, 1 - TRAIT])),
        (BudgetRegressor(2, loss="poisson"), np.exp(TRAIT).round()),
    ):
        display = ManhattanDisplay.from_estimator(
            model.fit(genotypes.X, y), genotypes.X, y, variants=genotypes.variants
        )
        assert np.isfinite(display.scores).all()
        assert {f"rs{j}" for j in model.support_} == set(words(display))


def test_a_region_and_a_search_have_the_same_scores(genotypes):
    """A part of a chromosome would have variants of others, or a search another model."""
    search = BudgetCV(BudgetRegressor(), n_features=[2], cv=3).fit(genotypes.X, TRAIT)
    variants = genotypes.variants
    display = ManhattanDisplay.from_estimator(search, genotypes.X, TRAIT, variants=variants)
    assert display.selected.tolist() == [4, 21]
    name, at = str(variants["chromosome"][4]), int(variants["position"][4])
    display.plot(region=(name, at, at))
    assert list(marked(display)) == [(at, display.scores[4])]
    assert f"position on chromosome {name} (Mb)" == display.ax_.get_xlabel()
    with pytest.raises(ValueError, match=r"region must be \(chromosome, start, end\)"):
        display.plot(region=("no", 0, 1))
    with pytest.raises(ValueError, match="variants must be those of the first columns of X"):
        ManhattanDisplay.from_estimator(
            BudgetRegressor(1).fit(COPIES[:, :4], TRAIT), COPIES[:, :4], TRAIT, variants=variants
        )
    given = {"variants": variants, "scores": display.scores}
    with pytest.raises(ValueError, match="a score each, and selected ones with a coefficient"):
        ManhattanDisplay(**given, selected=[1, 2], coef=[1.0])
    with pytest.raises(ValueError, match="selected must be positions in variants, 0 to 29; got 30"):
        ManhattanDisplay(**given, selected=[30], coef=[1.0])


@pytest.mark.slow
def test_a_million_variants_make_a_small_file_and_many_names_fit(tmp_path):
    """A million variants would be a file that no browser opens, or names lie on each other."""
    p = 1_000_000
    variants = np.zeros(p, [("chromosome", "O"), ("name", "O"), ("position", np.int64)])
    variants["chromosome"] = np.repeat([*map(str, range(1, 21)), "X", "MT"], -(-p // 22))[:p]
    variants["name"] = [f"rs{j}$_" for j in range(p)]
    variants["position"] = np.arange(p)
    rng = np.random.default_rng(0)
    display = ManhattanDisplay(
        variants=variants, scores=rng.random(p) ** 3, selected=np.arange(1000, 1100),
        coef=rng.standard_normal(100),
    ).plot()  # fmt: skip
    display.figure_.savefig(tmp_path / "m.svg")
    assert (tmp_path / "m.svg").stat().st_size < 500_000
    places = [one.get_position()[0] for one in display.ax_.texts]
    assert len(places) == 40
    assert min(places) >= 0
    assert max(places) <= 1
    assert np.diff(places).min() > 0.019


def pictures(page):
    """The drawings in a page, as text."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)', page)
    return "".join(base64.b64decode(one).decode() for one in found)


def test_a_page_of_genotypes_has_the_plot(genotypes, run, tmp_path, monkeypatch):
    """The page would have no picture, or one that its policy forbids."""
    monkeypatch.chdir(tmp_path)
    run("select", "d.bed", "-k", "2", "-o", "m.npz", "--no-cv")
    run("report", "m.npz", "d.bed", "--cv", 3, "--pairs", 2, "--time-limit", 0, "-o", "p.html")
    page = Path("p.html").read_text()
    assert "Every variant by its correlation with the target" in page
    assert "img-src data:;" in page
    assert ">30 variants<" in pictures(page)
    assert 'href="data:image/png;base64,' in pictures(page)  # the points
    assert "style=" not in page
    model = BudgetRegressor(2).fit(genotypes.X, TRAIT)
    given = {"n_pairs": 2, "time_limit": 0, "cv": 3, "variants": genotypes.variants}
    own = report(model, genotypes.X, TRAIT, tmp_path / "q.html", **given).read_text()
    assert ">30 variants<" in pictures(own)
    given["variants"] = np.repeat(genotypes.variants, 2)
    with pytest.raises(ValueError, match="variants must be of the first columns of X"):
        report(model, genotypes.X, TRAIT, tmp_path / "q.html", **given)


# --------------------------------------------------------------------------------- real data

DATA = Path(os.environ.get("ZERONORM_DATA", "/nowhere"))


def as_bed(stem, copies, chromosome, position, y):
    """Write genotypes of 2, 1, 0 and -1 copies as .bed, .bim and .fam; return the path."""
    n, p = copies.shape
    code = np.array([3, 2, 0, 1], np.uint8)[copies.T.astype(int)]
    quad = np.pad(code, ((0, 0), (0, -n % 4))).reshape(p, -1, 4)
    packed = quad[:, :, 0] | quad[:, :, 1] << 2 | quad[:, :, 2] << 4 | quad[:, :, 3] << 6
    stem.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    lines = [
        f"{c}\tv{j}\t0\t{int(at)}\tA\tG"
        for j, (c, at) in enumerate(zip(chromosome, position, strict=True))
    ]
    stem.with_suffix(".bim").write_text("\n".join(lines) + "\n")
    stem.with_suffix(".fam").write_text("".join(f"{i} {i} 0 0 0 {v}\n" for i, v in enumerate(y)))
    return stem.with_suffix(".bed")


def first_of(path, k):
    """The chromosomes and positions of k chosen variants, and the model, of the .fam's target."""
    genotypes = read_plink(path)
    known = ~np.isnan(genotypes.phenotype)
    genotypes = read_plink(path, samples=known)
    y = genotypes.phenotype
    binary = set(np.unique(y)) == {0.0, 1.0}
    model = (BudgetClassifier if binary else BudgetRegressor)(k, method="l0").fit(genotypes.X, y)
    ManhattanDisplay.from_estimator(model, genotypes.X, y, variants=genotypes.variants)
    found = genotypes.variants[model.support_]
    return found["chromosome"].tolist(), found["position"], model


@pytest.mark.skipif(not (DATA / "mice").is_dir(), reason="needs the data sets")
@pytest.mark.filterwarnings("ignore:X columns 'v4647_A' and 'v4649_A' are equal")  # so they are
@pytest.mark.parametrize(
    ("trait", "chromosome", "low", "high"),
    [("y", "7", 49.0, 50.0), ("black", "4", 48.5, 49.5)],
)
def test_coats_of_mice(trait, chromosome, low, high, tmp_path):
    """The gene of a coat would not be found: Tyr on 7, Tyrp1 (its neighbourhood) on 4."""
    data = np.load(DATA / "mice" / "arrays.npz")
    cases = np.where(data[trait] > 0, 2, 1)
    path = as_bed(tmp_path / "mice", data["X"], data["chr"], 1e6 * data["mbp"].astype(float), cases)
    chromosomes, positions, model = first_of(path, 2)
    assert chromosome in map(str, chromosomes)
    place = [str(one) for one in chromosomes].index(chromosome)
    assert low <= positions[place] / 1e6 <= high
    assert model.score(read_plink(path).X, cases - 1) > 0.85


@pytest.mark.skipif(not (DATA / "arabidopsis_ft16").is_dir(), reason="needs the data sets")
def test_flowering_time_of_arabidopsis(tmp_path):
    """Genotypes of one chromosome, of zeros and ones, would not be selected from."""
    data = np.load(DATA / "arabidopsis_ft16" / "arrays.npz")
    days = np.where(data["ft16"] > 0, data["ft16"], -9)
    path = as_bed(tmp_path / "at", 2 * data["X"], ["5"] * len(data["pos"]), data["pos"], days)
    _, _, model = first_of(path, 5)
    known = days > 0
    assert model.score(read_plink(path, samples=known).X, days[known]) > 0.6


@pytest.mark.skipif(not (DATA / "rice_imputed").is_dir(), reason="needs the data sets")
def test_height_of_rice(tmp_path):
    """Targets that are missing would not be left out, or 50,000 variants be too many."""
    data = np.load(DATA / "rice_imputed" / "arrays.npz")
    heights = np.where(data["y"] == 0, 0, (data["y"] + 3) // 2)
    p = data["X"].shape[1]
    path = as_bed(tmp_path / "rice", data["X"], 1 + 12 * np.arange(p) // p, np.arange(p), heights)
    _, _, model = first_of(path, 8)
    known = heights > 0
    assert model.score(read_plink(path, samples=known).X, heights[known] - 1) > 0.8


@pytest.mark.skipif(not (DATA / "bigsnpr_example").is_dir(), reason="needs the data sets")
def test_files_as_they_are_distributed():
    """The files of others would be refused: of bigsnpr, of HapMap 3, of MendelIHT.jl."""
    chromosomes, _, model = first_of(DATA / "bigsnpr_example" / "bigsnpr_example.bed", 5)
    assert len(chromosomes) == 5
    hapmap = read_plink(DATA / "hapmap3" / "hapmap3.bed")
    data = np.load(DATA / "hapmap3" / "arrays.npz")
    names = data["pops"].astype(str)[data["y"]]
    asia = np.isin(names, ["CHB", "CHD", "JPT"])
    X, y = hapmap.X[asia], names[asia] == "JPT"
    fitted = BudgetClassifier(20).fit(X, y)
    assert fitted.score(X, y) > 0.9
    _, _, model = first_of(DATA / "plink_example" / "mendel" / "normal.bed", 7)
    assert model.support_.size == 7
    assert zeronorm.cross_validate(BudgetClassifier(20, calibrate=False), X, y, cv=3).mean > 0.6
