"""Pictures of selections with matplotlib, as scikit-learn draws: displays with `from_estimator`.

Every display keeps what it draws as attributes, draws it by `plot`, and then has `figure_` and
`ax_` (or `axes_`). Colours are those of Okabe and Ito, which the colour-blind tell apart, and no
picture speaks by colour alone. matplotlib comes with pip install "zeronorm[plots]".
"""

from .certificates import NearOptimalDisplay, ProofDisplay
from .manhattan import ManhattanDisplay
from .selections import CoefficientsDisplay, SizesDisplay, StabilityDisplay, SupportsDisplay
from .survival import KaplanMeierDisplay

__all__ = [
    "CoefficientsDisplay",
    "KaplanMeierDisplay",
    "ManhattanDisplay",
    "NearOptimalDisplay",
    "ProofDisplay",
    "SizesDisplay",
    "StabilityDisplay",
    "SupportsDisplay",
]
