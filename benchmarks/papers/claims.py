"""What the papers claim, and what is so here: one page over all of them.

    python benchmarks/papers/claims.py                     # reads results/papers, writes claims.md
    python benchmarks/papers/claims.py --results DIR

Every verdict is read from the report of the script that measured it, in the same folder; none is
written by hand. Claims of ours, which those reports have too, are left out. What no script measures
is listed with the reason. A page of another folder ends with how it differs from the committed
one: a claim has the same verdict where the shares of its checks that hold differ by no more than
chance would make them (Fisher's exact test at 0.01). Smaller sizes may change a verdict for good.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import fisher_exact

from _mslr import SETS, common

CHANCE = 0.01
Claim = tuple[str, str, str, str]  # the claim, measured, the verdict, the report


@dataclass(frozen=True)
class Paper:
    """A paper, the reports of its experiments, and what is not among them."""

    title: str
    reports: tuple[str, ...]
    missing: tuple[str, ...] = ()


PAPERS = (
    Paper(
        "Tan, Tsang and Wang, Minimax sparse logistic regression (2013)",
        ("mslr", "mslr_bisection", "mslr_rates"),
        (
            "The subgradient, SQP and proximal gradient methods that section III-D names for the "
            "problem over the blocks: the paper gives no algorithm and no experiment of them. The "
            "steps of a subgradient method grow like 1/e or 1/e^2 with the error e, those of the "
            "smoothing like 1/e; a step of SQP solves a program over all n dual variables. What "
            "the solvers here share with them is measured: `fista` takes proximal gradient steps, "
            "on the primal problem, which has no box (0, C)^n to which the paper objects; "
            "SimpleMKL is the reduced gradient method of FGM; `newton` minimises a quadratic model "
            "over the block weights, as SQP does.",
            "Newton and quasi-Newton steps on the smoothed dual, which Algorithm 2 takes from its "
            "sources and section III-A replaces by coordinate descent, as a step is a system of n "
            "equations whose curvature grows with q. `newton` solves systems of as many equations "
            "as the blocks have features instead, and reaches gaps of 1e-12.",
            "Problem (15), the SVM with scaled features of Grandvalet and Canu: related work, "
            "neither solved nor measured in the paper.",
            "The r x T mode, the union of blocks, is `MinimaxLogisticRegression(union=True)`. The "
            "experiments select exactly k features, so that methods have the same number; their "
            "blocks of k / 10 are those of r = k / 10 up to the last, which is cut.",
            "Verdicts are of the sizes that the reports name. The paper's own of Figs. 1, 3 and 4 "
            "(4096 x 8192, 5000 x 100,000 with 300 features, 20,000 x 10,000 with 600): "
            "`results/papers-full`.",
            "Arxiv astro-ph (99,757 words), RCV1 as a whole (697,641 rows), real-sim, epsilon "
            "(400,000 rows), the binary news20 (1,355,191 words) and the 393,321 SNPs of 4901 "
            "persons are not at hand. The last table of this page says what stands for each, and "
            "in Tables II and III rcv1_small stands for RCV1, pcmac and news20ng for real-sim: "
            "data of the same kind (text with rows of unit length, genotypes, dense rows of unit "
            "length), but far smaller, so that seconds carry over less than accuracies do.",
            "The published code of FGM is not at hand either. FGM-SVM and FGM-LR are the "
            "SimpleMKL of this package, whose ridge problems Newton's method solves: what is said "
            "of their seconds is of it alone.",
        ),
    ),
    Paper(
        "Zhou, Dang and Wang, Accelerated splitting augmented Lagrange (2021)",
        ("asalm",),
        (
            "Several classes, which the conclusion names as what comes next, are in `L0By`; the "
            "paper has no experiment of them.",
        ),
    ),
    Paper("Notes on Yuan, Ho and Lin, newGLMNET (2012)", ("newglmnet",)),
    Paper(
        "Mao and Tsang, Feature selection for multivariate performance measures (2013)",
        ("measures_text", "measures_text_sizes", "measures_binary", "measures_sensitivity",
         "measures_images", "measures_theorem"),
        (
            "Sector and URL are not at hand: News20 and news20ng, with the same measures, stand "
            "for them, and the reports say why these.",
            "The regulariser (4) with p other than 2: for p < 2 every support is that of a local "
            "optimum and the dual has a gap, for p > 2 no feature is left out "
            "(`docs/theory/measures.md`); the paper's algorithms and experiments have p = 2.",
        ),
    ),
    Paper(
        "Xiang, Yang and Ye, Simultaneous feature and feature group selection (2014)",
        ("bilevel_isometry", "bilevel_projection", "bilevel_convergence", "bilevel_simulation",
         "bilevel_housing"),
    ),
)  # fmt: skip
WORDS = {"yes": "holds", "no": "does not hold", "in part": "holds in part", "-": "open"}
MEASURED = ("measured", "here", "difference", "categories above", "differences")
# Rows of the reports that ask more than the papers say.
OURS = re.compile(
    r"\bzeronorm\b|not claimed by the paper|\(ours\)|^\(the same by|, -$", re.IGNORECASE
)


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a report whose last column says what holds, but those of our own."""
    found: list[list[list[str]]] = []
    ours = False
    for part in re.split(r"\n(?=## )", text):
        ours = bool(re.match(r"## .*\bours\b", part))
        for block in re.findall(r"(?:^\|.*\|\n?)+", part, re.MULTILINE):
            rows = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in
                    block.strip().replace("\\|", "/").splitlines()]  # fmt: skip
            if rows[0][-1] == "holds" and not ours:
                found.append([rows[0], *rows[2:]])
    return found


def claims_of(name: str, text: str) -> list[Claim]:
    """Return the claims of a report."""
    found: list[Claim] = []
    for header, *rows in tables(text):
        is_measured = [column.split(",")[0] in MEASURED for column in header[:-1]]
        for row in rows:
            said = [
                cell if column in ("what", "the paper") else f"{column} {cell}"
                for column, cell, measured in zip(header, row, is_measured, strict=False)
                if not measured
            ]
            values = [cell for cell, one in zip(row, is_measured, strict=False) if one]
            claim = ", ".join(said)
            if not OURS.search(claim):
                found.append((claim, "; ".join(values), verdict(row[-1], name), name))
    return found


def verdict(cell: str, name: str) -> str:
    """Return the verdict of a cell of a report in the words of this page."""
    plain = cell.replace("*", "").strip()
    word, _, counts = plain.partition(" (")
    if word not in WORDS:
        sys.exit(f"{name}.md has the verdict {word!r}, which is none of {', '.join(WORDS)}: it is "
                 f"of another version. Run {name}.py again.")  # fmt: skip
    return WORDS[word] + (f" ({counts}" if counts else "")


def mslr_claims(folder: Path) -> list[Claim]:
    """Return the claims of the report that already is one."""
    return [
        (f"{one['where']}: {one['the paper says']}", "", one["verdict"].strip("*"), "mslr")
        for one in common.earlier(folder, "mslr").get("claims", [])
        if not OURS.search(one["the paper says"])
    ]


def section(paper: Paper, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the part of the page about a paper, and the verdict of every claim."""
    claims: list[Claim] = []
    lacking = []
    for name in paper.reports:
        file = folder / f"{name}.md"
        if not file.exists():
            lacking.append(name)
        elif name == "mslr":
            claims += mslr_claims(folder)
        else:
            common.earlier(folder, name)  # its record goes into that of this page
            claims += claims_of(name, file.read_text())
    lines = [
        [claim, measured, f"**{word}**", f"[{name}]({name}.md)"]
        for claim, measured, word, name in claims
    ]
    text = [f"## {paper.title}"]
    if lines:
        text.append(common.table(["the paper says", "measured", "verdict", "report"], lines))
    notes = [*paper.missing, *(f"Not run: `{name}.py`." for name in lacking)]
    if notes:
        text.append("\n".join(f"- {one}" for one in notes))
    return text, {f"{name}: {claim}": word for claim, _, word, name in claims}


def shares(verdict: str) -> tuple[int, int] | None:
    """Return how many checks of a claim hold and how many do not, None of an open one."""
    if found := re.search(r"\((\d+) of (\d+)\)", verdict):
        holds, all_ = map(int, found.groups())
        return holds, all_ - holds
    return {"holds": (1, 0), "does not hold": (0, 1)}.get(verdict)


def beside(verdicts: dict[str, str]) -> list[str]:
    """Return how the verdicts differ from those of the committed page."""
    committed = common.read_json(common.RESULTS / "papers" / "claims.json")["verdicts"]
    pairs = {one: (shares(committed[one]), shares(verdicts[one])) for one in verdicts
             if one in committed}  # fmt: skip
    compared = {one: pair for one, pair in pairs.items() if all(pair)}
    other = [one for one, pair in compared.items() if fisher_exact(pair).pvalue < CHANCE
             or (max(map(sum, pair)) == 1 and committed[one] != verdicts[one])]  # fmt: skip
    lines = [[one, committed[one], verdicts[one]] for one in other]
    same = len(compared) - len(other)
    text = (
        f"Of {len(verdicts)} claims {len(compared)} can be compared with the committed page, and "
        f"{same} of these have the same verdict. The rest are open or not tested in one of the "
        "two, or of sizes that it does not have."
    )
    print(text, file=sys.stderr)
    table = [common.table(["claim", "committed", "here"], lines)] if lines else []
    return ["## Beside the committed page", text, *table]


def main() -> None:
    """Write claims.md, and claims.json with the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=common.RESULTS / "papers")
    folder = parser.parse_args().results
    if not any((folder / f"{name}.md").exists() for paper in PAPERS for name in paper.reports):
        sys.exit(f"{folder} has no results of papers: run `make papers` first.")
    parts = [(paper, *section(paper, folder)) for paper in PAPERS]
    words = list(dict.fromkeys([*WORDS.values(), "not tested"]))
    counts = {
        paper.title: dict(Counter(word.partition(" (")[0] for word in found.values()))
        for paper, _, found in parts
    }
    verdicts = {one: word for _, _, found in parts for one, word in found.items()}
    lines = [[title, *(count.get(word, 0) for word in words)] for title, count in counts.items()]
    text = ["# The five papers, claim by claim", (__doc__ or "").rpartition("\n\n")[2].strip(),
            common.table(["paper", *words], lines)]  # fmt: skip
    for _, about, _ in parts:
        text += about
    stands = [[f"`{name}`", one.about, one.stands_for] for name, one in SETS.items()]
    text += ["## Data that stand for those of the first paper",
             common.table(["here", "what", "stands for"], stands)]  # fmt: skip
    if folder.resolve() != (common.RESULTS / "papers").resolve():
        text += beside(verdicts)
    found = {"claims": counts, "verdicts": verdicts}
    common.write(folder, "claims", found, "\n\n".join(text), package=False)


if __name__ == "__main__":
    sys.exit(main())
