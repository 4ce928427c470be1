"""`zeronorm.reporting.records`: what is unknown is said, what is not finite is refused."""

import json
import math

import msgspec
import pytest

from zeronorm.reporting import records


def scores(**given):
    """Held-out scores of a size."""
    known = {one.name: None for one in msgspec.structs.fields(records.HeldOutScores)}
    known |= {"folds": 3, "mean": 0.5, "standard_error": 0.1, "scores": [0.5], "baseline": 0.4,
              "compared": 1, "limit_of_chance": 2.9, "better_than_chance": False}  # fmt: skip
    return records.HeldOutScores(**known | given)


def test_what_is_unknown_is_null_and_comes_back():
    """A score that a fold does not have would be read as 0, or be lost."""
    record = scores(auc=None)
    text = json.dumps(records.as_json(record), allow_nan=False)
    assert '"auc": null' in text
    assert msgspec.json.decode(text, type=records.HeldOutScores) == record


def test_what_is_left_out_comes_back():
    """A model of numbers would have an accuracy, or a range no least number."""
    record = records.Range(least=0.0, largest=1.0, events=2)
    assert records.as_json(record) == {"least": 0.0, "largest": 1.0, "events": 2}
    assert msgspec.convert(records.as_json(record), records.Range) == record


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_never_null_in_silence(value):
    """An infinite score would be printed as one that nobody knows."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        json.dumps(records.as_json(scores(auc=value)), allow_nan=False)


def test_null_is_refused_where_a_number_is_always_known():
    """A damaged report would be shown with a mean that is none."""
    bad = records.as_json(scores()) | {"mean": None}
    with pytest.raises(
        msgspec.ValidationError, match=r"Expected `float`, got `null` - at `\$.mean`"
    ):
        msgspec.convert(bad, records.HeldOutScores)


def test_sizes_are_numbers_again():
    """The substitutes of a size would not be found in a report that was kept."""
    trust = records.Trust(unit="features", models={3: records.SizeTrust(substitutes=[], proofs=[])})
    kept = json.loads(json.dumps(records.as_json(trust)))
    assert msgspec.convert(kept, records.Trust, str_keys=True) == trust


def test_the_schema_has_what_docstrings_say_of_fields():
    """A reader of the schema would not know what null stands for."""
    found = records.schema()["$defs"]["Certified"]
    assert found["description"] == "A lower bound on the objective of all feature sets of a size."
    assert found["properties"]["bound"]["description"].startswith("no feature set of this size")
    assert found["additionalProperties"] is False


@pytest.mark.parametrize(
    "bad",
    [
        {"names": ["a"]},
        {"members": [None]},
        {"costs": [0.1]},
        {"scores": [0.5]},
        {"scores": [], "errors": [0.1, 0.1]},
    ],
)
def test_what_substitutes_lack_is_refused(bad):
    """A page would show the cost of another substitute, or end in an IndexError."""
    whole = {"index": 0, "without": 0.1, "names": ["a", "b"], "members": [None, None],
             "costs": [0.0, 0.1], "score": None, "score_without": None, "error_without": None,
             "scores": [], "errors": [], "within": 0.01, "n_exchangeable": 0,
             "proven": True}  # fmt: skip
    msgspec.convert(whole, records.SubstitutesFound)
    with pytest.raises(msgspec.ValidationError, match="substitutes must have"):
        msgspec.convert(whole | bad, records.SubstitutesFound)
