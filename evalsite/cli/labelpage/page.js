// SPDX-License-Identifier: Apache-2.0
// One sheet, one item at a time. Texts of the sheet are put in as text only.
"use strict";

const TODO = "todo";
const by = (id) => document.getElementById(id);
const state = { sheet: null, at: 0, undo: [], saving: false };

const BINARY = [
  { key: "1", value: 1, name: "1: yes, as the instructions say" },
  { key: "0", value: 0, name: "0: no" },
];
const GRADED = [
  { key: "h", value: 100, name: "100: high" },
  { key: "m", value: 50, name: "50: middle" },
  { key: "l", value: 0, name: "0: low" },
];
const UNDECIDED = { key: "u", value: null, name: "I cannot decide" };

function choices() {
  return [...(state.sheet.graded ? GRADED : BINARY), UNDECIDED];
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Characters that nobody would see, or that reorder what is seen: shown by their number.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\u{e0000}-\u{e007f}]/gu;

function foreign(text) {
  const made = document.createElement("pre");
  made.dir = "auto";
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    const mark = element("span", `U+${code}`);
    mark.className = "hidden-character";
    made.append(text.slice(at, found.index), mark);
    at = found.index + found[0].length;
  }
  made.append(text.slice(at));
  return made;
}

function said(label) {
  if (label === TODO) return "not labelled yet";
  return label === null ? "cannot decide" : String(label);
}

function start(sheet) {
  state.sheet = sheet;
  by("about").textContent = `${sheet.corpus}, ${sheet.criterion}, as ${sheet.annotator}`;
  by("instructions").textContent = sheet.instructions;
  by("grade-line").hidden = !sheet.graded;
  for (const choice of choices()) {
    const button = element("button", `${choice.name} `);
    button.type = "button";
    button.id = `choice-${choice.key}`;
    button.append(element("kbd", choice.key));
    button.addEventListener("click", () => give(choice.value));
    by("choices").append(button);
  }
  const open = sheet.items.findIndex((item) => item.label === TODO);
  show(open < 0 ? 0 : open);
}

function count() {
  const done = state.sheet.items.filter((item) => item.label !== TODO).length;
  const all = state.sheet.items.length;
  by("progress").max = all || 1;
  by("progress").value = done;
  by("count").textContent = `${done} of ${all}${done === all ? ": the sheet is complete" : ""}`;
}

function show(index) {
  const items = state.sheet.items;
  count();
  if (!items.length) {
    by("item").textContent = "Nothing to label";
    by("form").hidden = true;
    return;
  }
  state.at = index;
  const item = items[index];
  by("item").textContent = `Item ${index + 1} of ${items.length}: ${said(item.label)}`;
  const texts = item.texts.flatMap(({ title, text }) => [element("h3", title), foreign(text)]);
  by("texts").replaceChildren(...texts);
  for (const choice of choices()) {
    by(`choice-${choice.key}`).setAttribute("aria-pressed", String(item.label === choice.value));
  }
  by("grade").value = typeof item.label === "number" ? String(item.label) : "";
  by("note").value = item.note ?? "";
  by("previous").disabled = index === 0;
  by("next").disabled = index === items.length - 1;
  by("undo").disabled = !state.undo.length;
}

function go(index) {
  if (index < 0 || index >= state.sheet.items.length) return;
  show(index);
  by("status").textContent = "";
  by("item").focus({ preventScroll: true });
  by("item").scrollIntoView({ block: "nearest" });
}

function nextOpen() {
  const items = state.sheet.items;
  for (let step = 1; step <= items.length; step += 1) {
    const index = (state.at + step) % items.length;
    if (items[index].label === TODO) return index;
  }
  return -1;
}

async function save(index, label, note) {
  if (state.saving) return false;
  state.saving = true;
  const item = state.sheet.items[index];
  try {
    const body = JSON.stringify({ key: item.key, label, note: note || null });
    const reply = await fetch("label", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (!reply.ok) throw new Error(await reply.text());
    item.label = label;
    item.note = note || null;
    by("alert").textContent = "";
    return true;
  } catch (error) {
    by("alert").textContent = `Not saved: ${error.message}. Is evalsite label serve still running?`;
    return false;
  } finally {
    state.saving = false;
  }
}

async function give(value) {
  const index = state.at;
  const item = state.sheet.items[index];
  const before = { index, label: item.label, note: item.note };
  if (!(await save(index, value, by("note").value.trim()))) return;
  state.undo.push(before);
  const open = nextOpen();
  go(open < 0 ? index : open);
  const rest = open < 0 ? "Every item has a label; you can close this page." : `Now item ${open + 1}.`;
  by("status").textContent = `Item ${index + 1} saved: ${said(value)}. ${rest}`;
}

async function undo() {
  const last = state.undo.at(-1);
  if (!last || !(await save(last.index, last.label, last.note))) return;
  state.undo.pop();
  go(last.index);
  by("status").textContent = `Item ${last.index + 1} is as before: ${said(last.label)}.`;
}

function giveGrade() {
  const text = by("grade").value.trim();
  if (!/^(100|[1-9]?[0-9])$/.test(text)) {
    by("alert").textContent = "Expected a whole number from 0 to 100.";
    return;
  }
  by("grade").blur();
  give(Number(text));
}

async function saveNote() {
  const item = state.sheet.items[state.at];
  const note = by("note").value.trim();
  if (item.label !== TODO && note !== (item.note ?? "") && (await save(state.at, item.label, note))) {
    by("status").textContent = "Note saved.";
  }
}

const KEYS = {
  j: () => go(state.at + 1),
  ArrowRight: () => go(state.at + 1),
  k: () => go(state.at - 1),
  ArrowLeft: () => go(state.at - 1),
  n: () => nextOpen() >= 0 && go(nextOpen()),
  z: undo,
  e: () => by("note").focus(),
  g: () => state.sheet.graded && by("grade").focus(),
};

function pressed(event) {
  if (!state.sheet || !state.sheet.items.length || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (!by("keys").checked) return;
  const choice = choices().find((one) => one.key === event.key);
  const action = choice ? () => give(choice.value) : KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

by("form").addEventListener("submit", (event) => {
  event.preventDefault();
  giveGrade();
});
by("note").addEventListener("change", saveNote);
by("previous").addEventListener("click", KEYS.k);
by("next").addEventListener("click", KEYS.j);
by("open").addEventListener("click", KEYS.n);
by("undo").addEventListener("click", undo);
document.addEventListener("keydown", pressed);

fetch("sheet")
  .then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(reply.statusText))))
  .then(start)
  .catch((error) => {
    by("alert").textContent = `The sheet can't be read: ${error.message}`;
  });
