"""The lines that end the --help of each command, which `tests/test_cli.py` parses."""

from __future__ import annotations

EXAMPLES = {
    "select": (
        "zeronorm select golub -k 5",
        "zeronorm select visits.csv --target relapse -k 1:20 --missing mean",
        "zeronorm select genes.csv --samples people.tsv --target type --prove",
    ),
    "cv": (
        "zeronorm cv golub -k 1:20",
        "zeronorm cv visits.csv --target relapse --id patient -k 5,10 --cv 10",
    ),
    "verify": (
        "zeronorm verify golub golub-k4.certificate.npz",
        "zeronorm verify visits.csv visits-k5.certificate.npz --target relapse",
    ),
    "certify": (
        "zeronorm certify golub X95735_at,M27891_at",
        "zeronorm certify visits.csv list.txt --target relapse",
    ),
    "prove": (
        "zeronorm prove golub X95735_at,M27891_at --gap 0",
        "zeronorm prove visits.csv list.txt --target relapse --within 0.02 -o all.csv",
    ),
    "discover": (
        "zeronorm discover golub --fdr 0.2",
        "zeronorm discover genes.csv --target type --features-out found.csv",
    ),
    "infer": (
        "zeronorm infer visits.csv --target relapse -k 3",
        "zeronorm infer visits.csv --target days -k 5 --splits 20 --confidence 0.9",
    ),
    "path": (
        "zeronorm path golub --cv 5 -o path.csv",
        "zeronorm path visits.csv --target days --loss least_squares --max-features 20",
    ),
    "predict": (
        "zeronorm predict visits-k5.model.npz new.csv --proba -o predictions.csv",
        "zeronorm predict visits-k5.model.npz - < new.csv",
    ),
    "evaluate": (
        "zeronorm evaluate visits-k5.model.npz new.csv",
        "zeronorm evaluate visits-k5.model.npz new.csv --where \"site == 'B'\"",
    ),
    "compare": (
        "zeronorm compare visits-k5.model.npz visits-k10.model.npz",
        "zeronorm compare visits-k5.model.npz visits-k10.model.npz new.csv",
    ),
    "report": (
        "zeronorm report golub-k5.model.npz golub -o golub.html",
        "zeronorm report visits-k5.model.npz visits.csv -k 1:10 -o visits.html",
    ),
    "explain": (
        "zeronorm explain visits-k5.model.npz new.csv --sample P017",
        "zeronorm explain visits-k5.model.npz new.csv -o explained.csv",
    ),
    "convert": (
        "zeronorm convert visits.csv visits.zarr --target relapse --missing mean",
        "zeronorm convert 'chr*.pgen' all.zarr --target PHENO1",
    ),
    "info": (
        "zeronorm info visits-k5.model.npz",
        "zeronorm info visits.csv -k 100",
        "zeronorm info visits-k5.model.npz --format sql -o visits.sql",
    ),
    "completion": (
        "zeronorm completion bash > zeronorm.bash",
        "zeronorm completion fish > ~/.config/fish/completions/zeronorm.fish",
    ),
}
