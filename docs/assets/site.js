// Mathematics: pymdownx.arithmatex leaves \(...\) and \[...\] in elements of the class arithmatex.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex"))
    renderMathInElement(element, {
      delimiters: [
        { left: "\\(", right: "\\)", display: false },
        { left: "\\[", right: "\\]", display: true },
      ],
    });
  // Names of options and functions stay on one line in a table, unless they are so long that they squeeze the other columns.
  for (const code of document.querySelectorAll(".md-typeset table:not([class]) td code"))
    if (code.textContent.length <= 24) code.classList.add("short");
});

// Returns the commands of a block that shows commands with their output: the lines after "$ ", and lines that continue one.
function commandsOf(text) {
  const commands = [];
  let continues = false;
  for (const line of text.split("\n")) {
    const begins = line.startsWith("$ ");
    if (!begins && !continues) continue;
    commands.push(begins || line.startsWith("> ") ? line.slice(2) : line);
    continues = line.endsWith("\\");
  }
  return commands.join("\n");
}

// The copy button of such a block copies only its commands. This listener runs before that of the theme.
document.addEventListener("click", (event) => {
  const button = event.target.closest(".md-clipboard");
  const block = button && button.closest(".language-console");
  if (block) button.setAttribute("data-clipboard-text", commandsOf(block.querySelector("code").textContent) + "\n");
}, true);
