"use strict";
// The page is whole without this. Texts and cells come as they are to be shown, for every size.
(() => {
  const sizes = JSON.parse(document.getElementById("page-data").textContent);
  const tables = document.querySelectorAll("table.sorted");

  const cell = (value) => {
    const td = document.createElement("td");
    const [text, number, kind] = value;
    td.textContent = text;
    if (kind) td.className = kind;
    if (number !== null) td.dataset.v = number;
    return td;
  };

  const show = (place) => {
    const size = sizes[place];
    for (const element of document.querySelectorAll("[data-text]"))
      element.textContent = size.texts[element.dataset.text];
    for (const body of document.querySelectorAll("tbody[data-rows]")) {
      body.replaceChildren(...size.tables[body.dataset.rows].map((row) => {
        const tr = document.createElement("tr");
        tr.append(...row.map(cell));
        return tr;
      }));
      sort(body.parentElement);
    }
    for (const row of document.querySelectorAll("tr[data-size]"))
      row.classList.toggle("chosen", row.dataset.size === String(size.k));
    filter();
  };

  const value = (row, column) => {
    const td = row.cells[column];
    return td.dataset.v === undefined ? td.textContent.toLowerCase() : Number(td.dataset.v);
  };

  const sort = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    if (column < 0) return;
    const sign = heads[column].getAttribute("aria-sort") === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
    body.append(...rows);
  };

  for (const table of tables)
    for (const head of table.tHead.rows[0].cells) {
      const turn = () => {
        const was = head.getAttribute("aria-sort");
        const first = head.classList.contains("n") ? "descending" : "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", was === null ? first : was === "ascending" ? "descending" : "ascending");
        sort(table);
      };
      head.tabIndex = 0;
      head.setAttribute("role", "button");
      head.addEventListener("click", turn);
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        turn();
      });
    }

  const wanted = document.getElementById("filter");
  const filter = () => {
    if (!wanted) return;
    const text = wanted.value.toLowerCase();
    for (const row of document.querySelectorAll("tbody[data-rows] tr"))
      row.hidden = !row.textContent.toLowerCase().includes(text);
  };
  if (wanted) wanted.addEventListener("input", filter);

  const slider = document.getElementById("size");
  if (slider) slider.addEventListener("input", () => show(Number(slider.value)));
  for (const element of document.querySelectorAll(".scripted")) element.hidden = false;
})();
