"""One page that says what was run, whether it was good, and what came out. Draws; computes no mechanics."""

from musculo.diagnostics.finding import Finding, Light, Severity
from musculo.report.folder_report import report_of_folder
from musculo.report.page_parts import Band, Bars, Curve, Panel, Report, Section, TextTable
from musculo.report.report_page import write_report

__all__ = [
    "Band",
    "Bars",
    "Curve",
    "Finding",
    "Light",
    "Panel",
    "Report",
    "Section",
    "Severity",
    "TextTable",
    "report_of_folder",
    "write_report",
]
