"""Names the pages of reference, one for each verb that the command has, in the navigation."""

import pathlib


def on_config(config):
    folder = pathlib.Path(config.docs_dir, "reference")
    verbs = [{p.stem: f"reference/{p.name}"} for p in sorted(folder.glob("*.md")) if p.stem not in ("index", "python")]
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    next(part for part in reference if "Verbs" in part)["Verbs"] = verbs
    return config
