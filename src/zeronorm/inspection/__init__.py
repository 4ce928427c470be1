"""How far selected features can be from the best ones, and which others would do."""

from .alternatives import NearOptimal, near_optimal
from .certification import certify, prove
from .replacements import Substitutes, substitutes

__all__ = ["NearOptimal", "Substitutes", "certify", "near_optimal", "prove", "substitutes"]
