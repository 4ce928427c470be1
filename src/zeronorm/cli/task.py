"""Which task the options of `zeronorm select` say, and what is refused before any work."""

from __future__ import annotations

from ..methods import METHODS
from .options import LOSSES, TASKS, SelectOptions


def settle_task(options: SelectOptions) -> str:
    """Return the task that the options say, "auto" where the target says it; refuse the rest."""
    if options.task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}; got {options.task!r}.")
    loss = options.loss
    if loss is not None and loss not in LOSSES:
        raise ValueError(
            f"--loss must be one of {', '.join(LOSSES)}; got {loss!r}. Classes have the logistic "
            "loss, survival times Cox's partial likelihood."
        )
    if options.ties not in (None, "breslow", "efron"):
        raise ValueError(f"--ties must be breslow or efron; got {options.ties!r}.")
    of_rates = loss in ("poisson", "gamma")
    # Ordered classes are classes, too.
    labels = "ordered" if options.task == "ordered" or options.order is not None else "classes"
    implied = {
        "--time": (options.time is not None, "survival"),
        "--event": (options.event is not None, "survival"),
        "--start": (options.start is not None, "survival"),
        "--strata": (options.strata is not None, "survival"),
        "--ties": (options.ties is not None, "survival"),
        f"--loss {loss}": (loss is not None, LOSSES.get(loss or "", "")),
        "--exposure": (options.exposure is not None and not of_rates, "counts"),
        "--order": (options.order is not None, "ordered"),
        "--measure": (options.measure is not None, "classes"),
        "--positive": (options.positive is not None, "classes"),
        "--class-weight": (options.class_weight is not None, labels),
        "--shared" if options.shared else "--per-class": (options.shared is not None, "classes"),
    }
    task, reason = options.task, "--task"
    for option, (given, of_task) in implied.items():
        if not given:
            continue
        if task == "auto":
            task, reason = of_task, option
        elif task != of_task:
            raise ValueError(
                f"{option} is of {of_task}, but {reason} says {task}. Leave out one of them."
            )
    _check_parts(options, task)
    return task


def _check_parts(options: SelectOptions, task: str) -> None:
    """Refuse half of a target, and what does not go with a task."""
    if task == "survival":
        for option, value in (("--time", options.time), ("--event", options.event)):
            if value is None:
                raise ValueError(
                    f"Survival times need {option}: say --time COLUMN, until the event or the end "
                    "of observation, and --event COLUMN, 1 where the event was observed and else 0."
                )
        if options.target is not None:
            raise ValueError(
                "Survival times have --time and --event as their target; leave out --target "
                f"{options.target!r}."
            )
        if not options.intercept:
            raise ValueError("--no-intercept is not of survival, which has no intercept.")
    offset = options.offset if options.exposure is None else options.exposure
    if task == "ordered":
        if not options.intercept:
            raise ValueError("--no-intercept is not of ordered, whose thresholds are intercepts.")
        known = [name for name, method in METHODS.items() if method.shares]
        if options.method not in (None, "auto", *known):
            raise ValueError(
                f"--method must be one of {', '.join(known)} for ordered; got {options.method!r}."
            )
    if offset is not None and task in ("classes", "ordered", "survival"):
        raise ValueError(f"--offset and --exposure are of numbers and counts; got {task}.")
    if options.offset is not None and options.exposure is not None:
        raise ValueError(
            "--offset is the logarithm of --exposure: they are one or the other; got both."
        )
    if options.level is not None:
        if options.loss != "quantile":
            raise ValueError(
                f"--level {options.level:g} is of a quantile; say --loss quantile as well."
            )
        if not 0 < options.level < 1:
            raise ValueError(f"--level must be between 0 and 1; got {options.level:g}.")
