"""Converts notebooks to pages with their text and code blocks."""

import json


def page(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
    parts.insert(1, f'*This page is the notebook <a href="{path.name}" download>{path.name}</a>; a test runs it.*')
    return "\n\n".join(parts) + "\n"
