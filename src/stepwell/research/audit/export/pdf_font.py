"""The font of the PDF document: FiraGO, from the package `pymupdf-fonts`. Importing this imports reportlab."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]  # it ships no types
from reportlab.pdfbase.ttfonts import TTFont  # type: ignore[import-untyped]  # it ships no types

_STYLES = {"FiraGO": "Regular", "FiraGO-Bold": "Bold", "FiraGO-Italic": "Italic", "FiraGO-BoldItalic": "BoldItalic"}


def register_font() -> frozenset[int]:
    """Register the font with reportlab, which stores fonts by name for the process; returns the characters it covers."""
    for name, style in _STYLES.items():
        if name not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(TTFont(name, BytesIO(import_module(f"pymupdf_fonts.FiraGO_{style}").fontbuffer)))
    pdfmetrics.registerFontFamily("FiraGO", *_STYLES)
    font: Any = pdfmetrics.getFont("FiraGO")
    return frozenset(font.face.charToGlyph)
