"""`zeronorm report`: one page, whole, escaped, small, that lets nothing but its own script run."""

import base64
import hashlib
import json
import math
import re
import shutil
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace as Bag

import numpy as np
import pytest

from archives import parts, rewrite
from conftest import slow, write_csv
from golub import GOLUB
from zeronorm import BudgetClassifier, methods, persistence
from zeronorm.cli import report as _report
from zeronorm.persistence.models import MODEL

pytest.importorskip("matplotlib")

VOID = {"meta", "input", "br", "img", "link"}
QUICK = ("--cv", 3, "--pairs", 3, "--time-limit", 0.2)
ONE_PAIR = ("--cv", 3, "--pairs", 1, "--time-limit", 0.2)
EVIL = "<img src=x onerror=alert(1)>\"&'</script>"


class Page(HTMLParser):
    """A page as a browser reads it: its elements, and the text in each."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.source = path.read_text(encoding="utf-8")
        self.open, self.elements, self.texts = [], [], []
        self.feed(self.source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    @property
    def text(self):
        return " ".join(text for tag, text in self.texts if tag not in ("script", "style"))

    def inside(self, tag):
        return [text for own, text in self.texts if own == tag]

    @property
    def sizes(self):
        """What the slider moves."""
        return json.loads(self.inside("script")[0])


def table(path="all.csv", n=40, **more):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, 6)), 3)
    z = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(n)
    columns = {f"x{j}": X[:, j] for j in range(5)} | {EVIL: X[:, 5] + z}
    columns["y"] = np.where(z > 0, "yes", "<b>no</b>")
    write_csv(path, columns | more)
    return z


@pytest.fixture
def page(run, tmp_path):
    table()
    run("select", "all.csv", "--target", "y", "-k", "1:3", "--cv", 3, "-o", "m.npz")
    run("report", "m.npz", "all.csv", *QUICK, "-o", "page.html")
    return Page(tmp_path / "page.html")


def test_a_page_answers_in_short(page):
    """A reader would not find which features, how sure, what instead, and how good."""
    assert [size["k"] for size in page.sizes] == [1, 2, 3]
    assert any(size["texts"]["which"] in page.text for size in page.sizes)
    for size in page.sizes:
        assert len(size["tables"]["features"]) == size["k"]
        assert set(size["texts"]) == {"size", "which", "new", "sure", "instead", "better"}
        assert "3-fold cross-validation" in size["texts"]["new"]
        assert (
            "always '<b>no</b>'" in size["texts"]["new"] or "always 'yes'" in size["texts"]["new"]
        )
        assert size["texts"]["better"].startswith(
            ("Optimal: ", "Nearly optimal: ", "Not optimal: ", "Unknown: ")
        )
    for told in ("zeronorm verify list.npz all.csv", "SHA-256 of the data", "BudgetClassifier("):
        assert told in page.text


@pytest.mark.parametrize(
    ("gain", "gap", "words", "cell"),
    [
        (0.0, 0.0, ["Optimal: no other 5 features have a lower"], "proven"),
        (0.0, 0.02, ["Unknown: no better set was found", "than 2%"], "within 2%"),
        (0.005, 0.0, ["Nearly optimal: with B instead of A", "0.5% lower", "use the set shown"],
         "no, by 0.5%"),
        (0.005, 0.02, ["Nearly optimal: ", "at most 2% more can be gained", "use the set shown"],
         "no, by 0.5%, at most 2.5%"),
        (0.03, 0.0, ["Not optimal: with B instead of A", "3% lower", "(proven)", "with --prove"],
         "no, by 3%"),
    ],
)  # fmt: skip
def test_a_page_says_which_list_to_use(gain, gap, words, cell):
    """A reader would not know whether the list shown is the best one, or whether to use it."""
    from zeronorm.reporting.page.answers import Answers

    certificate = Bag(gap=gap, proven=gap == 0.0)
    proof = Bag(
        certificate=certificate, gain=gain, added=["B"] * (gain > 0), dropped=["A"] * (gain > 0),
        reason="the time is over", nodes=3, seconds=1.0, status="TIME_LIMIT", improved=gain > 0,
    )  # fmt: skip
    answers = Answers.__new__(Answers)
    answers.trust = Bag(unit="features", models={5: Bag(proofs=[proof])})
    answers.document = Bag(classes=["no", "yes"])
    model = Bag(size=5, n_features=5, certificates=[certificate])
    said = answers.better(model)
    assert all(one in said for one in words)
    assert said.count(". ") == 0  # one sentence
    assert answers.gap(model).text == cell


def test_the_best_of_several_sizes_is_held_against_as_many(run, tmp_path):
    """A page of a model file would call better than chance what select says may be no better."""
    noise = np.random.default_rng(3).permutation(np.repeat(["a", "b"], 20))
    table(noise=noise)
    given = ("select", "all.csv", "--target", "noise", "--drop", "y", "-k", "1:3", "--cv", 3)
    run(*given, "-o", "m.npz", "--report", "own.html")
    run("report", "m.npz", "all.csv", "--drop", "y", *ONE_PAIR, "-o", "again.html")
    own, again = (Page(tmp_path / name).sizes for name in ("own.html", "again.html"))
    said = [size["texts"]["new"] for size in again]
    assert all("for the best of 3 sizes" in one for one in said)
    assert said == [size["texts"]["new"] for size in own]


def test_a_pair_of_halves_is_no_judgement(run, tmp_path):
    """Two lists would be told to be unstable, which nobody can know of two."""
    from zeronorm.reporting.text.selection import stable_words

    table()
    run("select", "all.csv", "--target", "y", "-k", "1", "--cv", 3, "-o", "m.npz")
    run("report", "m.npz", "all.csv", *ONE_PAIR, "-o", "page.html")
    page = Page(tmp_path / "page.html")
    assert "sets are too few to judge whether they are stable" in page.sizes[0]["texts"]["sure"]
    cut = r"of 2 half-samples of \d+ samples, 1 on each; the sets are too few to judge"
    assert re.search(cut, page.text)
    wide = Bag(index=0.5, interval=[0.2, 0.8], n_pairs=4)
    assert stable_words(wide).startswith("too few to judge")
    fair = Bag(index=0.5, interval=[0.42, 0.8], n_pairs=4)
    assert stable_words(fair).startswith("fairly stable (index 0.50")
    bad = Bag(index=0.2, interval=[0.1, 0.3], n_pairs=4)
    assert stable_words(bad).startswith("unstable")


@pytest.mark.parametrize(
    ("n", "complete", "known", "words"),
    [
        (1, True, 0.01, "1 set of 1 feature is within 1% of the best objective; no others exist"),
        (2, False, 0.0, "2 sets of 1 feature found within 1% of the best objective; others may "
         "exist; all have B"),
        (1, False, 0.004, "1 set of 1 feature found within 1% of the best objective; others may "
         "exist; the list is complete up to 0.4%; it has B"),
    ],
)  # fmt: skip
def test_lists_that_are_nearly_as_good_are_told(n, complete, known, words):
    """A reader would take the lists that were found in a second for all that there are."""
    from zeronorm.reporting.page.answers import near_words

    lists = [Bag(features=["B"])] * n
    near = Bag(within=0.01, complete=complete, complete_within=known, lists=lists,
               features=[Bag(name="B", n_lists=n)])  # fmt: skip
    assert near_words(near, "feature").startswith(words)


def test_one_is_no_plural(run, tmp_path):
    """A reader would stumble over 1 features, 1 samples and 1 times."""
    table(more=["c"] * 39 + ["d"])
    said = run("select", "all.csv", "--target", "y", "-k", "1", "--cv", 3, "-o", "m.npz",
               "--permutations", 1, "--stability", 1).stdout  # fmt: skip
    run("report", "m.npz", "all.csv", *ONE_PAIR, "-o", "page.html")
    (tmp_path / "one.csv").write_text("\n".join((tmp_path / "all.csv").read_text().split("\n")[:2]))
    said += run("predict", "m.npz", "one.csv").stdout + run("info", "one.csv").stdout
    page = Page(tmp_path / "page.html")
    texts = " ".join([said, page.text, *page.sizes[0]["texts"].values()])
    for one in ("permuted 1 time at", "1 sample ", "1 row x", "1 of 7 features that tells"):
        assert one in " ".join(texts.split())
    plurals = (
        r"(?<![\d.,])1 (features|samples|times|rows|lists|passes|levels|pairs|columns|nodes)\b"
    )
    assert not re.search(plurals, texts)
    assert "no other feature has a lower" in page.sizes[0]["texts"]["better"]


def test_the_command_has_the_first_name_of_an_option():
    """A reader would look for --obs, which nobody has typed."""
    from zeronorm.cli.options import SelectOptions
    from zeronorm.cli.page import command_line

    asked = SelectOptions(data="all.csv", target="y", features="3", save=False, standardize=False)
    command = command_line("select", asked)
    assert sorted(command.split(" --")[1:]) == [
        "features 3", "no-save", "no-standardize", "target y",
    ]  # fmt: skip


def test_nothing_runs_that_is_not_of_the_page(page):
    """Names from data would be executed, or the page would ask others for something."""
    policy = next(a["content"] for t, a in page.elements if "http-equiv" in a)
    css, script = page.inside("style")[0], page.inside("script")[1]
    for kind, text in (("style", css), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "img-src data:;" in policy  # a script in an image does not run
    assert len(script) < 30_000
    assert len(page.inside("script")) == 2
    assert len(page.inside("style")) == 1
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"b", "link", "iframe", "object", "a", "svg"}
    for _, attributes in page.elements:
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        assert "href" not in attributes
        assert attributes.get("src", "data:image/svg+xml;base64,").startswith("data:image/svg+xml;")
    outside = re.sub(r'src="data:[^"]*"', "", page.source)
    assert not re.search(r"https?:|//[a-z]", outside.replace(script, ""))
    assert EVIL[:20] in page.text
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_the_data_of_the_slider_are_those_of_select(run, tmp_path):
    """The page would show other features, scores or certificates than the command."""
    table()
    given = ("all.csv", "--target", "y", "-k", "1:3", "--cv", 3, "--rule", "best", "-o", "m.npz")
    document = json.loads(run("select", *given, "--report", "page.html", "--json").stdout)
    sizes = Page(tmp_path / "page.html").sizes
    for size, model in zip(sizes, document["models"], strict=True):
        rows = size["tables"]["features"]
        assert [row[1][0] for row in rows] == [one["name"] for one in model["features"]]
        shown = [row[2][1] for row in rows]
        assert shown == [one["coefficient"] for one in model["features"]]
        assert f"{model['cross_validation']['mean']:.3f} ±" in size["texts"]["new"]


@pytest.mark.slow
def test_the_size_depends_on_k(run, tmp_path):
    """A page of a million features could not be sent."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.choice(1_000_000, 60, replace=False)) + 1
    places[-1] = 1_000_000
    rows = (rng.standard_normal((24, 60)).round(2) + np.arange(24)[:, None] % 2).tolist()
    lines = [
        f"{number % 2} " + " ".join(f"{j}:{value}" for j, value in zip(places, row, strict=True))
        for number, row in enumerate(rows)
    ]
    (tmp_path / "big.svm").write_text("\n".join(lines) + "\n")
    run("select", "big.svm", "-k", 2, "--no-cv", "-o", "m.npz")
    run(
        "report",
        "m.npz",
        "big.svm",
        "--cv",
        2,
        "--pairs",
        1,
        "--time-limit",
        0.1,
        "-o",
        "page.html",
    )
    assert (tmp_path / "page.html").stat().st_size < 500_000
    assert "2 of 1,000,000 features" in Page(tmp_path / "page.html").text


def test_long_names_are_shortened(run, tmp_path):
    """One name would be the page."""
    z = table()
    table(**{"n" * 100_000: z})
    run("select", "all.csv", "--target", "y", "-k", 1, "--no-cv", "-o", "m.npz")
    run("report", "m.npz", "all.csv", *QUICK, "-o", "page.html")
    page = Page(tmp_path / "page.html")
    assert "n" * 50 in page.text
    assert len(page.source) < 200_000


@pytest.mark.parametrize(
    "case",
    [
        (("--target", "z"), ()),
        (("--time", "days", "--event", "dead"), ()),
        *slow(
            (("--target", "three"), ("--per-class",)),
            (("--target", "y,z"), None),
            (("--target", "z"), ("--loss", "huber")),
            (("--target", "three"), ()),
            (("--target", "y"), ("--prove",)),
            (("--target", "y"), ("--measure", "f1")),
            (("--target", "y"), ("--covariates", "x3", "--force", "x4")),
        ),
    ],
)
def test_every_kind_of_model_has_a_page(run, tmp_path, case):
    """A model would have no page, or one of another model."""
    target, problem = case
    z = table()
    others = {"three": np.digitize(z, [-0.6, 0.6]), "days": np.exp(-z) + 0.1, "z": z}
    table(**others, dead=(z > -1).astype(int))
    if problem is None:  # several responses
        target, problem = ("--target", "z,days"), ()
    own = {name for one in target for name in one.split(",")}
    unused = {"y", "dead", *others} - own
    rows = [*target, *(part for name in sorted(unused) for part in ("--drop", name))]
    run("select", "all.csv", *rows, *problem, "-k", 2, "--cv", 3, "-o", "m.npz")
    run("report", "m.npz", "all.csv", *rows, *QUICK, "-o", "page.html")
    page = Page(tmp_path / "page.html")
    candidates = "5" if "--covariates" in problem else "[67]"
    assert re.search(f"2 of {candidates} features", page.text)
    assert "zeronorm predict m.npz NEW.csv" in page.text


def test_other_data_are_refused(run, fails, tmp_path):
    """The page would be of a model that nobody has asked about, and half-samples of other rows."""
    z = table()
    table("fewer.csv", n=30)
    table("others.csv", x0=z, x1=z + 1, x2=z + 2, x3=z + 3, x4=z + 4, **{EVIL: z + 5})
    run("select", "all.csv", "--target", "y", "-k", 2, "--no-cv", "-o", "m.npz")
    said = fails("report", "m.npz", "fewer.csv", "-o", "page.html")
    assert "fewer.csv has 30 samples here, and m.npz is of 40" in said
    said = fails("report", "m.npz", "others.csv", "-o", "page.html")
    assert "not the samples that m.npz was selected from" in said
    said = fails("report", "m.npz", GOLUB, "-o", "page.html")
    assert "has 3,051 features; m.npz was selected from 6" in said
    assert not (tmp_path / "page.html").exists()


def test_what_cannot_be_written_is_refused_at_once(run, fails, tmp_path, monkeypatch):
    """Minutes of work would end in an error, or a file be lost."""
    table()
    run("select", "all.csv", "--target", "y", "-k", 2, "--no-cv", "-o", "m.npz")
    shutil.copy("all.csv", "all.html")
    assert "NAME.html" in fails("report", "m.npz", "all.csv", "-o", "page.txt")
    assert "is an input as well" in fails("report", "m.npz", "all.html", "-o", "all.html")
    assert "nowhere" in fails("report", "m.npz", "all.csv", "-o", "nowhere/page.html")
    assert "--pairs must be" in fails("report", "m.npz", "all.csv", "-o", "p.html", "--pairs", -1)
    said = fails("report", "m.npz", "all.csv", "-o", "p.html", "--time-limit", "nan")
    assert "--time-limit must be" in said
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = fails("report", "m.npz", "all.csv", "-o", "page.html")
    assert said.endswith('pip install "zeronorm[plots]".')
    assert not list(tmp_path.glob("*p*.html"))


@pytest.mark.parametrize(
    "given",
    [
        {"method": methods.L0(gap=0.0, time_limit=math.inf), "signs": {0: 1, 3: -1}},
        {"method": methods.Pool(factor=2.0), "class_weight": {0: 2.0, 1: 1.0}, "C": 0.5},
        {"method": "auto", "forced_features": [1], "covariates": [2], "refit_C": None},
        {"criterion": "bic", "fit_intercept": False, "standardize": False, "calibrate": False},
    ],
)
def test_a_file_has_the_parameters_of_its_fit(tmp_path, given):
    """Half-samples and other feature sets of a page would be of another problem."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = BudgetClassifier([1, 2], **given)
    model.signs = given.get("signs")
    loaded = Bag(
        metadata={"parameters": persistence.as_plain(model.get_params()),
                  "estimator": "BudgetClassifier"}, classes_=np.array([0, 1]),
    )  # fmt: skip
    samples, options = Bag(groups=None, table=Bag(X=X)), Bag(threads=None)
    if "class_weight" in given:
        loaded = persistence.as_loaded(model.fit(X, (X[:, 0] > 0).astype(int)))
    found = _report.estimator_of_file(loaded, samples, options)
    assert found.multi_class in (model.multi_class, getattr(model, "multi_class_", None))
    found.multi_class = model.multi_class  # of a fit it is the one that was taken
    assert repr(found.get_params()) == repr(model.get_params())


def test_nothing_is_fitted_a_second_time(run, tmp_path, monkeypatch):
    """A page would take as long as the selection, or be of another model."""
    table()
    run("select", "all.csv", "--target", "y", "-k", "1,2", "--cv", 3, "-o", "m.npz")

    def refused(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr(BudgetClassifier, "fit", refused)
    monkeypatch.setattr("zeronorm.reporting.page.figures._held_out", lambda *_: iter(()))
    monkeypatch.setattr("zeronorm.reporting.documents.trust.half_samples", refused_halves)
    given = ("report", "m.npz", "all.csv", "--time-limit", 0.2, "-o", "p.html", "--json")
    found = json.loads(run(*given).stdout)
    assert found["computed"] == [
        "stability", "substitutes", "the search for better features", "near-optimal feature sets",
    ]  # fmt: skip
    assert "as the model file lacks it: stability, substitutes" in Page(tmp_path / "p.html").text


def refused_halves(*_):
    raise ValueError("no half-samples here")


def test_a_page_names_the_method_of_its_model(run, tmp_path):
    """The page of a model file would say that the default method had selected it."""
    table()
    run("select", "all.csv", "--target", "y", "-k", 2, "--method", "greedy", "-o", "m.npz")
    run("report", "m.npz", "all.csv", *QUICK, "-o", "page.html")
    facts = " ".join(Page(tmp_path / "page.html").text.split())
    assert methods.METHODS["greedy"].sentence.split("{")[0] in facts
    assert "method auto" not in facts


def test_substitutes_of_rare_positives_are_compared_by_auc(run, tmp_path):
    """All of them are as accurate as no model, so that none would seem to matter."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 5))
    y = np.where(X[:, 0] + rng.standard_normal(400) > 2.4, "yes", "no")
    columns = {f"x{j}": one for j, one in enumerate(np.round(X, 3).T)}
    write_csv("rare.csv", columns | {"y": y})
    run("select", "rare.csv", "--target", "y", "-k", 1, "--cv", 3, "-o", "m.npz")
    run("report", "m.npz", "rare.csv", *QUICK, "-o", "page.html")
    page = Page(tmp_path / "page.html")
    text = " ".join(page.text.split())
    assert "at a cost of AUC, held out gain over the model" in text
    assert "By AUC, as no size is more accurate than a model without features." in text
    lost = re.search(r"x0 nothing \S+ ([\d.]+) (\S+) ±", text)
    assert float(lost[1]) == 0.5
    assert float(lost[2]) < -0.2


def test_the_auc_of_a_page_is_that_of_select(run, tmp_path):
    """Of classes that share features scores alone do not order the rows, as a page would say."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2)).round(3)
    z = X[:, 0] + rng.standard_normal(400)
    columns = {"a": X[:, 0], "b": X[:, 1]}
    two = np.where(z > 2.4, "yes", "no")
    three = np.where(z > 2.0, "up", np.where(z < -2.0, "down", "at rest"))
    for name, y in {"two": two, "three": three}.items():
        write_csv("rare.csv", columns | {"y": y})
        given = ("select", "rare.csv", "--target", "y", "-k", 2, "--cv", 3, "-o", "m.npz")
        auc = json.loads(run(*given, "--json").stdout)["models"][0]["cross_validation"]["auc"]
        run("report", "m.npz", "rare.csv", *QUICK, "-o", "page.html")
        text = " ".join(Page(tmp_path / "page.html").text.split())
        assert "By AUC" in text, name
        assert f"the model has {auc:.3f}" in text, name


# The report of a selection that a model file keeps.


def test_a_model_says_what_select_said(run, tmp_path):
    """Whoever has the file alone would not know what was found, or read other figures."""
    table()
    asked = ("-k", "1,2", "--cv", 3, "--stability", 2, "-o", "m.npz")
    said = json.loads(run("select", "all.csv", "--target", "y", *asked, "--json").stdout)
    kept = json.loads(run("report", "m.npz", "--json").stdout)
    for document in (said, kept):
        del document["seconds"]
    assert kept == said
    text = run("report", "m.npz").stdout
    assert "in 3-fold cross-validation" in text
    assert "stability" in text
    run("report", "m.npz", "-o", "kept.html")
    page = Page(tmp_path / "kept.html")
    assert "of 4 half-samples of" in page.text
    assert "what the model file lacks: pictures and other feature sets" in page.text


def test_a_page_of_select_is_kept_whole(run, tmp_path):
    """What took minutes would be worked out a second time, or be lost with the page."""
    table()
    asked = ("-k", 2, "--cv", 3, "-o", "m.npz", "--report", "p.html")
    run("select", "all.csv", "--target", "y", *asked)
    run("report", "m.npz", "-o", "kept.html")
    whole, kept = (Page(tmp_path / name).text for name in ("p.html", "kept.html"))
    assert "what the model file lacks: pictures." in kept
    for words in ("on each; the sets are", "is within 1%"):
        assert (words in kept) == (words in whole)
    first = whole[whole.index("Certificate") :][:200]
    assert first in kept


def test_a_doubt_that_is_kept_comes_first(run, tmp_path):
    """A page of the file alone would not begin with the column that knows too much."""
    z = table(n=70)
    table("leak.csv", n=70, told=(z > 0) * 1.0)
    run("select", "leak.csv", "--target", "y", "-k", 1, "--no-cv", "-o", "m.npz")
    run("report", "m.npz", "-o", "kept.html")
    assert "Read this first" in Page(tmp_path / "kept.html").text


def test_what_a_report_of_the_file_alone_cannot_do_is_refused(run, fails, tmp_path):
    """Options would be left out in silence, or an error be one of Python."""
    table()
    run("select", "all.csv", "--target", "y", "-k", 1, "--no-cv", "-o", "m.npz")
    assert "--pairs needs DATA" in fails("report", "m.npz", "--pairs", 3)
    assert "--output FILE.html is needed with DATA" in fails("report", "m.npz", "all.csv")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    persistence.save(BudgetClassifier(1, calibrate=False).fit(X, X[:, 0] > 0), tmp_path / "own.npz")
    assert "own.npz keeps no report" in fails("report", "own.npz")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no report", "report must be compressed JSON"),
        (zlib.compress(b"[1, 2]"), "report must be an object of JSON"),
        (zlib.compress(b'{"selection": {}}')[:-3], "not too long"),
        (zlib.compress(b" " * 2**27), "not too long"),
        (zlib.compress(b'{"selection": {}}'), "report is not of this zeronorm"),
        (zlib.compress(b'{"selection": 1}'), "Expected `object`, got `int` - at `$.selection`"),
    ],
    ids=["other", "list", "cut", "bomb", "empty", "type"],
)
def test_a_report_that_is_none_is_refused(run, fails, tmp_path, content, reason):
    """A file would fill the memory, or end in an error that names no file."""
    table()
    run("select", "all.csv", "--target", "y", "-k", 1, "--no-cv", "-o", "m.npz")
    arrays = parts(tmp_path / "m.npz")
    arrays["report"] = np.frombuffer(content, np.uint8)
    rewrite(MODEL, tmp_path / "bad.npz", arrays)
    line = fails("report", "bad.npz")
    assert "bad.npz" in line
    assert reason in line


def test_a_report_of_another_model_is_refused(run, fails, tmp_path):
    """A file would show features that its model has not, or call its list proven."""
    table()
    for k in (1, 2):
        run("select", "all.csv", "--target", "y", "-k", k, "--no-cv", "-o", f"m{k}.npz")
    arrays, others = parts(tmp_path / "m1.npz"), parts(tmp_path / "m2.npz")
    rewrite(MODEL, tmp_path / "bad.npz", {**arrays, "report": others["report"]})
    assert "bad.npz: the report is of another model" in fails("report", "bad.npz")


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("models.1.certificates.0.proven", lambda known: not known, "another model"),
        ("models.1.features.0.coefficient", lambda known: -known, "another model"),
        ("models.1.features.0.name", lambda known: known + "*", "another model"),
        ("models.1.features.0.class", lambda known: "maybe", "another model"),
        ("models.1.features.1", lambda known: None, "not of this zeronorm"),
        ("models.0.size", lambda known: 2, "another model"),
        ("models.0.certificates.0.gap", lambda known: known + 0.5, "its objective and bound"),
        ("classes", lambda known: known[::-1], "another model"),
        ("chosen", lambda known: 3, "another model"),
        ("models.1.proofs", lambda known: [], "one for each problem"),
        ("score", lambda known: "auc", "not of this zeronorm"),
        ("models.0.training_accuracy", lambda known: math.nan, "compressed JSON"),
        ("models.0.training_accuracy", lambda known: math.inf, "compressed JSON"),
    ],
)
def test_a_report_that_was_changed_is_refused(run, fails, tmp_path, place, value, reason):
    """A file would show names, effects or proofs that its model does not have."""
    table()
    run("select", "all.csv", "--target", "y", "-k", "1,2", "--rule", "all", "--no-cv",
        "--no-calibrate", "-o", "m.npz")  # fmt: skip
    arrays = parts(tmp_path / "m-k2.npz")
    found = json.loads(zlib.decompress(arrays["report"].tobytes()))
    *above, last = (int(one) if one.isdigit() else one for one in place.split("."))
    inside = found["selection"]
    for one in above:
        inside = inside[one]
    inside[last] = value(inside[last])
    forged = np.frombuffer(zlib.compress(json.dumps(found).encode()), np.uint8)
    rewrite(MODEL, tmp_path / "bad.npz", {**arrays, "report": forged})
    said = fails("report", "bad.npz")
    assert "bad.npz" in said
    assert reason in said


@pytest.mark.parametrize(
    "asked",
    [
        "--target y --group-file g.tsv --groups 2 -k 3", "--target y --method l1 -k 2",
        "--target y --group-file g.tsv --groups 1 -k all", "--target y --measure f1 -k 2",
        "--target three -k 2", "--target three --per-class -k 2", "--target y --rule all -k 1,2",
        "--target x4 -k 2", "--target x4 -k 2 --covariates x1",
    ],
)  # fmt: skip
def test_a_report_of_any_model_is_its_own(run, tmp_path, asked):
    """What `select` wrote would be taken for a forgery."""
    z = table()
    table(three=np.array(["a", "b", "c"])[np.digitize(z, [-0.5, 0.5])])
    names = [*(f"x{j}" for j in range(5)), EVIL]
    lines = [f"{name}\tset {j // 2}\n" for j, name in enumerate(names)]
    Path("g.tsv").write_text("".join(lines))
    drop = () if "three" in asked else ("--drop", "three")
    run("select", "all.csv", *asked.split(), *drop, "--no-cv", "-o", "m.npz")
    files = [*tmp_path.glob("m*.npz")]
    assert files
    for file in files:
        assert run("report", file.name).stdout
        run("report", file.name, "-o", "p.html")


def test_a_report_of_too_many_features_has_the_criteria_of_what_it_keeps(
    run, tmp_path, monkeypatch
):
    """The sizes would be shown with the criteria of others, or not at all."""
    from zeronorm.reporting.documents import trust

    monkeypatch.setattr(trust, "MOST_KEPT", 7)
    table()
    run("select", "all.csv", "--target", "y", "-k", "1,2,3,4", "--rule", "bic", "-o", "m.npz")
    kept = json.loads(run("report", "m.npz", "--json").stdout)
    sizes = [model["size"] for model in kept["models"]]
    assert 1 < len(sizes) < 4
    assert [row["size"] for row in kept["criteria"]] == sizes
    assert "bic" in run("report", "m.npz").stdout.lower()


@pytest.mark.parametrize("asked", [["--measure", "f1"], []])
def test_another_target_is_refused(run, fails, tmp_path, asked):
    """A page would show held-out scores of another target; a measure has no certificate."""
    z = table()
    run("select", "all.csv", "--target", "y", "-k", 2, *asked, "--no-cv", "-o", "m.npz")
    table("other.csv", y=np.where(np.roll(z, 7) > 0, "yes", "<b>no</b>"))
    assert "m.npz was selected from" in fails("report", "m.npz", "other.csv", "-o", "p.html")
    assert not (tmp_path / "p.html").exists()
    run("report", "m.npz", "all.csv", *QUICK, "-o", "p.html")


def test_labels_may_be_written_as_numbers_or_text(run):
    """Data would be refused as those of another model, since 1 is not "1"."""
    z = table()
    X = np.random.default_rng(1).standard_normal((len(z), 3)) + z[:, None]
    y, names = (z > 0).astype(float), np.array(["a", "b", "c"])
    np.savez("numbers.npz", X=X, y=y, feature_names=names)
    np.savez("text.npz", X=X, y=y.astype(int).astype(str), feature_names=names)
    run("select", "numbers.npz", "-k", 1, "--measure", "f1", "--no-cv", "-o", "m.npz")
    for data in ("numbers.npz", "text.npz"):
        run("report", "m.npz", data, *QUICK, "-o", "p.html")
