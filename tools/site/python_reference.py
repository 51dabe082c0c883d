"""Generates the reference of the Python package from its docstrings (numpydoc), parsed without importing the package."""

import ast
import re

from reference import with_code

# The title of each section, and its files: the first has the docstring of the module, the others define its names.
MODULES = (("unfold: models and streams", "_core.pyi"), ("unfold: training", "training.py"),
           ("unfold: results", "results.py"),
           ("unfold.estimators", "estimators/__init__.py", "estimators/_classifier.py", "estimators/_tagger.py",
            "estimators/_forecaster.py", "estimators/_density.py", "estimators/_symbol_model.py"),
           ("unfold.hmm", "hmm/__init__.py", "hmm/_chain.py", "hmm/_gaussian_hmm.py", "hmm/_categorical_hmm.py",
            "hmm/_gmm_hmm.py"),
           ("unfold.crf", "crf.py"), ("unfold.reservoir", "reservoir.py"),
           ("unfold.torch", "torch/__init__.py", "torch/_layers.py", "torch/_cell.py"), ("unfold.errors", "errors.py"))


def python(folder):
    """Return {path: text}: the public names of the package with their docstrings."""
    parts = ["# Reference of the Python package",
             "This page was generated from the docstrings of the package. [Python](../python.md) describes how to install it "
             "and shows examples. All names can be imported from the module in the heading."]
    found = compiled_docstrings(folder.parent / "src")
    exported = _exported(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    for title, *files in MODULES:
        of_package = title.startswith("unfold: ")
        is_compiled = files == ["_core.pyi"]
        parts += _module(title, [(folder / name).read_text(encoding="utf-8") for name in files], found if is_compiled else {},
                         sorted({*exported} - {"train"} if is_compiled else exported) if of_package else None)
    return {"reference/python.md": "\n\n".join(part for part in parts if part) + "\n"}


STRING = r'"((?:\\.|[^"\\])*)"'


def compiled_docstrings(folder):
    """Return {(class or "", name): docstring} of the C++ sources that define the compiled part of the package."""
    found = {}
    for path in sorted(folder.glob("*.cpp")):
        source, owner = path.read_text(encoding="utf-8"), ""
        for match in re.finditer(r"class_<[^>]*>\([^\"]*" + STRING + r"|(\w*)\.def(?:_\w+)?\(\s*" + STRING, source):
            if match[1]:
                owner = match[1]
                continue
            call = source[match.end():_closing(source, match.end())]
            text = re.search(r",\s*((?:" + STRING + r"\s*)+)$", call)
            if text:
                doc = "".join(m[1] for m in re.finditer(STRING, text[1])).replace(r"\n", "\n").replace(r"\"", '"')
                found["" if match[2] else owner, match[3]] = doc
    return found


def _closing(source, at):
    depth = 1
    strings = re.compile(STRING)
    while depth:
        text = strings.match(source, at)
        if text:
            at = text.end()
            continue
        depth += (source[at] in "({[") - (source[at] in ")}]")
        at += 1
    return at - 1


def _with_docstrings(tree, found):
    """Insert the docstrings of the compiled part into its stubs, which have no docstrings; overloads share one."""
    for owner, body in [("", tree.body)] + [(node.name, node.body) for node in tree.body if isinstance(node, ast.ClassDef)]:
        for node, following in zip(body, [*body[1:], None]):
            last = getattr(following, "name", None) != getattr(node, "name", "")
            if isinstance(node, ast.FunctionDef) and (owner, node.name) in found and last:
                node.body.insert(0, ast.Expr(ast.Constant(found[owner, node.name])))
    return tree


def _exported(tree):
    """Return `__all__` of a module, or None if it has none."""
    return next((ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)
                 and getattr(node.targets[0], "id", "") == "__all__"), None)


def _module(title, sources, found, exported):
    trees = [_with_docstrings(ast.parse(source), found) for source in sources]
    listed = _exported(trees[0]) or exported
    parts = [f"## {title}", docstring(trees[0])]
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_") and (
                listed is None or node.name in listed):
            parts += _definition(node)
    return parts


def _definition(node):
    if isinstance(node, ast.ClassDef):
        parts = [f"### {node.name}", docstring(node)]
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and (not member.name.startswith("_") or member.name == "__init__"):
                parts += [f"```python\n{_signature(member)}\n```", docstring(member)]
        return parts
    return [f"### {node.name}", f"```python\n{_signature(node)}\n```", docstring(node)]


def _signature(node):
    """Return a function as it is called: without `self`, one line per parameter if it is long."""
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    kinds = {ast.unparse(d) for d in node.decorator_list}
    if "property" in kinds:
        return f"{node.name}{returns.replace(' -> ', ': ')}"
    line = f"{node.name}({arguments}){returns}"
    if len(line) <= 90:
        return line
    return f"{node.name}(\n    " + re.sub(r", (?![^\[(]*[\])])", ",\n    ", arguments) + f",\n){returns}"


def docstring(node):
    """Return a docstring in numpydoc style as Markdown."""
    text = ast.get_docstring(node)
    if not text:
        return ""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    first, *sections = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    parts = [_prose(first.strip("\n"))]
    for title, body in zip(sections[::2], sections[1::2]):
        body = body.strip("\n")
        items = re.fullmatch(r"(?:\w|\*|`)[^\n]*(?:\n(?: {4}[^\n]*)?|\n(?:\w|\*|`)[^\n]*)*", body) and re.search(r"\n {4}", body)
        parts += [f"**{title}**", _items(body) if items else _prose(body)]
    return "\n\n".join(parts)


def _items(body):
    rows = []
    for line in body.split("\n"):
        if line and not line.startswith(" "):
            rows.append([line, []])
        elif rows:
            rows[-1][1].append(line.strip())
    return "\n".join(f"- `{name.replace('`', '')}`: {with_code(' '.join(words).strip())}" for name, words in rows)


def _prose(text):
    """Return text as Markdown; indented blocks and doctests are code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        if re.match(r"    |>>> ", block):
            if blocks and blocks[-1].startswith("```python"):
                blocks[-1] = blocks[-1].removesuffix("\n```") + "\n\n" + block + "\n```"
            else:
                blocks.append(f"```python\n{block}\n```")
        elif re.match(r"[-*] ", block):
            blocks.append("\n".join(line if not line.startswith("  ") else "    " + line.strip()
                                    for line in map(with_code, block.split("\n"))).replace("&#42; ", "- "))
        else:
            blocks.append(with_code(block))
    return "\n\n".join(blocks)
