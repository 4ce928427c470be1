"""A model as a graph of ONNX."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..persistence import LoadedClassifier, LoadedModel
from ..validate import check_option
from ._model import as_model, feature_names, in_order, link_of, origins, raw_columns, thresholds

OPSET = 17
ML, ML_OPSET = "ai.onnx.ml", 3  # of text
IR_VERSION = 8  # of the same year: runtimes since 2022 read both


def to_onnx(model: Any, *, inputs: str | None = None, dtype: str = "float64") -> Any:
    """Return a model as an `onnx.ModelProto`; `SerializeToString()` are the bytes of its file.

    Its input is `X`, or columns of a table by their names. Its outputs have the names that skl2onnx
    gives: of classes `label`, (n,), and `probabilities`, (n, n_classes), the classes sorted (or
    `scores`, where these are no log-odds); of numbers `variable`, (n, n_responses), the means; of
    survival times `risk`, (n, 1). Offsets are 0 there. Its metadata have as JSON the names of the
    features, `features`, what each is of a column of text, dates or gaps, `origins` (as in
    `to_json`), and `classes`.

    Parameters
    ----------
    model : fitted estimator, or what `load` returns
    inputs : "selected", "all", "columns" or None
        Columns of X: the features of the model in their order, (n, p), or all that it was fitted
        on, (n, n_features_in_), of which the graph takes its own. "columns": the columns of the
        table that features are made of, each an input of its name, (n, 1), text as strings, in
        which "" is an empty cell, and numbers, in which NaN is one. None: "columns" where any
        feature is made of text or gaps and none of a date, else "selected".
    dtype : "float64" or "float32"
        Of X and all numbers; float32, which some runtimes need, has seven digits.

    Raises
    ------
    ImportError
        Without the package onnx: pip install "zeronorm[onnx]".
    ValueError
        For a model without features, for "columns" of dates or of the name of an output, and for a
        loss whose mean is no known function of the score.
    """
    loaded = as_model(model)
    if inputs is None:
        dated = any(coding.kind == "date" for coding in loaded.codings.values())
        inputs = "columns" if loaded.codings and not dated else "selected"
    check_option("inputs", inputs, ["selected", "all", "columns"])
    check_option("dtype", dtype, ["float64", "float32"])
    if not loaded.columns.size:
        raise ValueError("model must have features for ONNX; got none: it is a constant.")
    try:
        from onnx import checker, helper
    except ImportError as error:
        raise ImportError('ONNX needs the package onnx: pip install "zeronorm[onnx]".') from error

    graph = _Graph(np.dtype(dtype))
    if inputs == "columns":
        data, order, given = _of_columns(graph, loaded)
    else:
        width = loaded.columns.size if inputs == "selected" else loaded.n_features_in_
        data, order = "X", list(range(loaded.columns.size))
        if inputs == "all":
            data = graph.node("Gather", "X", graph.constant(loaded.columns), axis=1)
        given = [helper.make_tensor_value_info("X", graph.kind, [None, width])]
    ordered = link_of(loaded) == "ordered logit"
    scores = graph.node("MatMul", data, graph.number(loaded.coef[:, order].T))
    if not ordered:
        scores = graph.node("Add", scores, graph.number(loaded.intercept_))
    outputs = _outputs(graph, loaded, scores)
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "zeronorm",
            given,
            outputs,
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="zeronorm",
        producer_version=loaded.metadata["zeronorm"],
    )
    classes = loaded.classes_.tolist() if isinstance(loaded, LoadedClassifier) else []
    properties = {
        "features": feature_names(loaded), "origins": origins(loaded), "classes": classes,
    }  # fmt: skip
    helper.set_model_props(made, {key: json.dumps(value) for key, value in properties.items()})
    checker.check_model(made, full_check=True)
    return made


@dataclass(slots=True)
class _Graph:
    """Nodes and constants of a graph, with names that it makes up."""

    dtype: np.dtype[Any]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    @property
    def kind(self) -> int:
        """The type of the numbers, as ONNX counts types."""
        from onnx import helper

        return int(helper.np_dtype_to_tensor_dtype(self.dtype))

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant; return its name."""
        from onnx import numpy_helper

        name = f"zeronorm.constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def number(self, value: Any) -> str:
        """Add a constant of the type of the numbers; return its name."""
        return self.constant(np.ascontiguousarray(value, self.dtype))

    def node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        name = output or f"zeronorm.value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name


def _of_columns(graph: _Graph, model: LoadedModel) -> tuple[str, list[int], list[Any]]:
    """Add the features, made of columns of a table; return them, which each is, and the inputs."""
    from onnx import TensorProto, helper

    columns = raw_columns(model, "a graph", "Take inputs='selected'")
    made: list[str] = []
    order: list[int] = []
    given = []
    axis = ""
    for one in columns:
        if one.name in ("label", "probabilities", "scores", "variable", "risk", ""):
            raise ValueError(
                f"inputs must not be 'columns' where one is {one.name!r}, which an output is or "
                "none can be; rename it and select again, or take inputs='selected'."
            )
        text = one.kind == "category"
        kind = TensorProto.STRING if text else graph.kind
        given.append(helper.make_tensor_value_info(one.name, kind, [None, 1]))
        order += one.features
        if text:
            levels = ["" if origin["kind"] == "missing" else origin["value"]
                      for origin in one.features.values() if origin]  # fmt: skip
            axis = axis or graph.constant(np.array([1]))
            ones = graph.node("OneHotEncoder", one.name, domain=ML, cats_strings=levels, zeros=1)
            made.append(graph.node("Cast", graph.node("Squeeze", ones, axis), to=graph.kind))
            continue
        for origin in one.features.values():
            if origin is None:
                made.append(one.name)
                continue
            empty = graph.node("IsNaN", one.name)
            if origin["kind"] == "missing":
                made.append(graph.node("Cast", empty, to=graph.kind))
            else:
                made.append(graph.node("Where", empty, graph.number(origin["fill"]), one.name))
    return graph.node("Concat", *made, axis=1), order, given


def _outputs(graph: _Graph, model: LoadedModel, scores: str) -> list[Any]:
    """Add what scores mean to a graph; return its outputs."""
    from onnx import TensorProto, helper

    link = link_of(model)
    if not isinstance(model, LoadedClassifier):
        name = "risk" if link == "risk" else "variable"
        graph.node("Exp" if link == "log" else "Identity", scores, output=name)
        return [helper.make_tensor_value_info(name, graph.kind, [None, len(model.coef)])]
    classes = model.classes_
    n_classes, found = len(classes), "probabilities"
    if link in ("sign", "largest"):
        found, n_columns = "scores", len(model.coef)
        graph.node("Identity", scores, output="scores")
    else:
        n_columns = n_classes
        _probabilities(graph, model, scores, link)
    if len(model.coef) == 1 and link != "ordered logit":
        above = graph.node("Greater", scores, graph.number(model.cut))
        places = graph.node("Cast", above, to=TensorProto.INT64)
        places = graph.node("Squeeze", places, graph.constant(np.array([1])))
    else:
        ranked = found if link == "ordered logit" else scores
        places = graph.node("ArgMax", ranked, axis=1, keepdims=0)
    names = classes.astype(object) if classes.dtype.kind == "U" else classes
    graph.node("Gather", graph.constant(names), places, output="label", axis=0)
    text = classes.dtype.kind == "U"
    kind = TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(classes.dtype)
    return [
        helper.make_tensor_value_info("label", kind, [None]),
        helper.make_tensor_value_info(found, graph.kind, [None, n_columns]),
    ]


def _probabilities(graph: _Graph, model: LoadedClassifier, scores: str, link: str) -> None:
    """Add the output `probabilities`, (n, n_classes)."""
    if link == "logit":
        both = [graph.node("Sigmoid", graph.node("Neg", scores)), graph.node("Sigmoid", scores)]
        graph.node("Concat", *both, output="probabilities", axis=1)
        return
    if link == "ordered logit":  # of a higher class than the threshold; the differences of these
        cuts = graph.number(thresholds(model))
        above = graph.node("Sigmoid", graph.node("Sub", scores, cuts))
        # A column of 1 and one of 0, of as many rows as there are.
        zero = graph.node("Mul", scores, graph.number(0.0))
        one = graph.node("Add", zero, graph.number(1.0))
        higher = graph.node("Concat", one, above, axis=1)
        lower = graph.node("Concat", above, zero, axis=1)
        each = graph.node("Sub", higher, lower)
        ranks = np.argsort(in_order(model)).astype(np.int64)
        graph.node("Gather", each, graph.constant(ranks), output="probabilities", axis=1)
        return
    if link == "one-versus-rest":  # softmax of the logarithms of 1 / (1 + exp(-score))
        # min(s, 0) - log(1 + exp(-|s|)): runtimes lack Softplus of float64.
        far = graph.node("Exp", graph.node("Neg", graph.node("Abs", scores)))
        beside = graph.node("Log", graph.node("Add", far, graph.number(1.0)))
        scores = graph.node("Sub", graph.node("Min", scores, graph.number(0.0)), beside)
    graph.node("Softmax", scores, output="probabilities", axis=1)
