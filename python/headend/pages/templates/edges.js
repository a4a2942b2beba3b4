// Tells the style of a table's box whether there is more of the table on its right, so that the edge can fade.
const boxes = document.querySelectorAll(".scroll");

function mark(box) {
  box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
}

for (const box of boxes) box.addEventListener("scroll", () => mark(box), { passive: true });
const watcher = new ResizeObserver(entries => entries.forEach(({ target }) => mark(target)));
for (const box of boxes) watcher.observe(box);
