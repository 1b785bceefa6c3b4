"""The documentation site: `python -m sphinx -W --keep-going -n docs site` builds it, without a network.

Sphinx with MyST (pages are Markdown) and Furo (a theme that loads nothing from elsewhere). Reference pages are made
from docstrings by `tools/reference_pages.py`.
"""

import sys
import tempfile
from pathlib import Path

import musculo

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

project = "musculo"
author = "the authors of musculo"
version = release = musculo.__version__
extensions = ["myst_parser", "reference_pages"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"musculo {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_search_summary = False  # a browser may not read other pages of a folder
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_favicon = "assets/favicon.svg"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00695c", "color-brand-content": "#00695c"},
    "dark_css_variables": {"color-brand-primary": "#4db6ac", "color-brand-content": "#4db6ac"},
}
nitpicky = True

# The gallery's pages as notebooks, to download.
from notebooks import GALLERY, write_notebooks  # noqa: E402

_extra = Path(tempfile.mkdtemp(prefix="musculo-docs-"))
write_notebooks(_extra / "notebooks", sorted(GALLERY.glob("*.md")))
html_extra_path = [str(_extra)]
