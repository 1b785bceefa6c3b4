"""One page that says what was run, whether it was good, and what came out. Draws; computes no mechanics."""

from musculo.report.contents import Bars, Check, Curve, Light, Panel, Report, Section, Sheet
from musculo.report.folder import report_of_folder
from musculo.report.report_page import write_report

__all__ = [
    "Bars",
    "Check",
    "Curve",
    "Light",
    "Panel",
    "Report",
    "Section",
    "Sheet",
    "report_of_folder",
    "write_report",
]
