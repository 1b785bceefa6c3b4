"""One page that says what was run, whether it was good, and what came out. Draws; computes no mechanics."""

from musculo.report.contents import Check, Curve, Light, Panel, Report, Section
from musculo.report.folder import report_of_folder
from musculo.report.page import write_report

__all__ = ["Check", "Curve", "Light", "Panel", "Report", "Section", "report_of_folder", "write_report"]
