"""Adds the subcommands, and pages that are not listed in mkdocs.yml, to the navigation of the site."""

import pathlib

PARTS = {"results": "Results", "howto": "How to", "theory": "Theory", "tutorials": "Tutorials", "notebooks": "Tutorials",
         "project": "Reference", "reference": "Reference"}  # by folder; all others: Guide


def named(nav):
    """Yield every page of a navigation."""
    for entry in nav:
        value = entry if isinstance(entry, str) else next(iter(entry.values()))
        if isinstance(value, str):
            yield value
        else:
            yield from named(value)


def on_config(config):
    folder = pathlib.Path(config.docs_dir)
    parts = {title: pages for part in config.nav for title, pages in part.items()}
    verbs = sorted(p.stem for p in (folder / "reference").glob("*.md") if p.stem not in ("index", "python"))
    next(entry for entry in parts["Reference"] if "Verbs" in entry)["Verbs"] = [{verb: f"reference/{verb}.md"} for verb in verbs]
    known = set(named(config.nav))
    for page in sorted(str(p.relative_to(folder)) for p in folder.rglob("*.md")):
        if page not in known:
            parts[PARTS.get(page.split("/")[0], "Guide")].append(page)
    return config
