"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  let kept = null;
  try { kept = localStorage.getItem("bench-theme"); } catch { /* a browser may forbid it for files */ }
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  if (theme) {
    const say = () => { theme.textContent = dark() ? "Light theme" : "Dark theme"; };
    theme.hidden = false;
    say();
    theme.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("bench-theme", root.dataset.theme); } catch { /* as above */ }
      say();
    });
  }
  const name = document.getElementById("task-filter");
  const differ = document.getElementById("differ-filter");
  if (name && differ) {
    name.closest(".filters").hidden = false;
    const rows = [...document.querySelectorAll("table.grid tbody tr")];
    const filter = () => {
      const wanted = name.value.trim().toLowerCase();
      for (const row of rows) {
        const named = row.cells[0].textContent.toLowerCase().includes(wanted);
        row.hidden = !named || (differ.checked && !("differ" in row.dataset));
      }
    };
    name.addEventListener("input", filter);
    differ.addEventListener("change", filter);
  }
  const left = document.getElementById("left");
  const right = document.getElementById("right");
  if (left && right) {
    const main = document.getElementById("main");
    const cells = [...main.querySelectorAll("section.cell")];
    document.getElementById("pair").hidden = false;
    const named = decodeURIComponent(location.hash.slice(1));
    if (cells.some((cell) => cell.id === named)) left.value = named;
    const show = () => {
      const two = right.value !== "" && right.value !== left.value;
      main.classList.toggle("two", two);
      for (const cell of cells) {
        const column = cell.id === left.value ? 1 : two && cell.id === right.value ? 2 : 0;
        cell.hidden = column === 0;
        [...cell.querySelectorAll(":scope > .step")].forEach((step, row) => {
          step.style.gridColumn = two ? String(column) : "";
          step.style.gridRow = two ? String(row + 1) : "";
        });
      }
    };
    left.addEventListener("change", show);
    right.addEventListener("change", show);
    addEventListener("hashchange", () => {
      const wanted = decodeURIComponent(location.hash.slice(1));
      if (cells.some((cell) => cell.id === wanted)) { left.value = wanted; show(); }
    });
    show();
  }
})();
