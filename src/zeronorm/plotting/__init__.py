"""Pictures of selections with matplotlib, as scikit-learn draws: displays with `from_estimator`.

Every display keeps what it draws as attributes, draws it by `plot`, and then has `figure_` and
`ax_` (or `axes_`). Colours are those of Okabe and Ito, which the colour-blind tell apart, and no
picture speaks by colour alone. matplotlib comes with pip install "zeronorm[plots]".
"""

from .coefficients import CoefficientsDisplay
from .manhattan import ManhattanDisplay
from .near_optimal import NearOptimalDisplay
from .proof import ProofDisplay
from .sizes import SizesDisplay
from .stability import StabilityDisplay
from .supports import SupportsDisplay
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
