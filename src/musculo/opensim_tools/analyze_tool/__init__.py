"""`<AnalyzeTool>` and its analyses, a file each."""
