"""Completes the configuration of the site: groups the subcommands in the navigation, adds pages that are not listed in mkdocs.yml,
and shows the version of the project."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 8  # entries of a group
PARTS = {"results": "Results", "howto": "How-to guides", "theory": "Theory", "tutorials": "Tutorials", "notebooks": "Tutorials",
         "project": "Reference", "reference": "Reference"}  # by folder; all others: Guide
VERBS = {
    "Data and training": ["inspect", "train", "eval", "info", "sweep", "check", "bench", "generate"],
    "Predictions": ["predict", "tag", "classify", "forecast", "score", "density"],
    "Samples and states": ["sample", "complete", "embed"],
    "Reports and files": ["explain", "compare", "report", "compress", "decompress", "export", "import", "reproduce"],
}


def named(nav):
    """Yield every page of a navigation."""
    for entry in nav:
        value = entry if isinstance(entry, str) else next(iter(entry.values()))
        if isinstance(value, str):
            yield value
        else:
            yield from named(value)


def groups_of(verbs):
    """Return the groups of the navigation for these subcommands. A subcommand without a group is an error."""
    missing = sorted(set(verbs) - {verb for group in VERBS.values() for verb in group})
    if missing:
        raise ValueError(f"tools/site/navigation.py: VERBS has no group for {', '.join(missing)}")
    return [{title: [{verb: f"reference/{verb}.md"} for verb in group if verb in verbs]} for title, group in VERBS.items()]


def too_large(nav, title="the navigation"):
    """Yield the groups with more than LARGEST entries, not counting the page of the group itself."""
    shown = [entry for entry in nav if not (isinstance(entry, str) and entry.endswith("index.md"))]
    if len(shown) > LARGEST:
        yield f"{title} has {len(shown)} entries"
    for entry in nav:
        for name, value in entry.items() if isinstance(entry, dict) else ():
            if isinstance(value, list):
                yield from too_large(value, name)


def version_of(cmake):
    return re.search(r"project\(\s*unfold\s+VERSION\s+([\d.]+)", cmake, flags=re.I)[1]


def on_config(config):
    folder = pathlib.Path(config.docs_dir)
    parts = {title: pages for part in config.nav for title, pages in part.items()}
    verbs = {p.stem for p in (folder / "reference").glob("*.md")} - {"index", "python", "cpp"}
    place = parts["Reference"].index("Commands")
    parts["Reference"][place:place + 1] = groups_of(verbs)
    known = set(named(config.nav))
    for page in sorted(str(p.relative_to(folder)) for p in folder.rglob("*.md")):
        if page not in known:
            parts[PARTS.get(page.split("/")[0], "Guide")].append(page)
    for group in too_large(config.nav):
        raise ValueError(f"mkdocs.yml: {group}; at most {LARGEST} are allowed: divide the group")
    version = version_of((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    config.repo_name = f"Unfold {version}"
    config.copyright = f"Unfold {version} · License: {config.copyright}"
    return config
