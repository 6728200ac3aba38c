"use strict";
// The page's side of bpe.live: it encodes as BPETokenizer and CharTokenizer do, and shows what comes out.
// Each element carries this script and its data, and nothing is global, so several on a page don't meet.

// --- Numbers and classes of characters, as bpe/live/packing.py packs them

function unpackNumbers(packed) {
  const numbers = [];
  let number = 0;
  let factor = 1;
  for (const character of atob(packed)) {
    const byte = character.charCodeAt(0);
    number += (byte & 127) * factor;
    factor *= 128;
    if (byte < 128) {
      numbers.push(number);
      number = 0;
      factor = 1;
    }
  }
  return numbers;
}

// Numbers in ascending order are packed as differences.
function unpackAscending(packed) {
  let last = 0;
  return unpackNumbers(packed).map((difference) => (last += difference));
}

function unpackClass(packed) {
  const bounds = unpackAscending(packed);
  const hexadecimal = (code) => `\\u{${code.toString(16)}}`;
  let spelled = "";
  for (let i = 0; i < bounds.length; i += 2) {
    spelled += `${hexadecimal(bounds[i])}-${hexadecimal(bounds[i + 1])}`;
  }
  return `[${spelled}]`;
}

function pairsOf(numbers) {
  return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
}

// --- Tokens: a string of characters, or of bytes (one character for each, U+0000 to U+00FF)

const toBytes = (text) => Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");

// The character that begins at a place of a string of bytes, or null if its bytes are not UTF-8.
function characterAt(bytes, start) {
  const first = bytes.charCodeAt(start);
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const slice = Uint8Array.from(bytes.slice(start, start + length), (byte) => byte.charCodeAt(0));
  try {
    return { length, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(slice) };
  } catch {
    return null;
  }
}

const SIGNS = { 0x20: "·", 0x0a: "⏎", 0x09: "⇥", 0x7f: "␡", 0xa0: "⍽", 0x3000: "□" };

function signFor(character) {
  const code = character.codePointAt(0);
  if (SIGNS[code]) return SIGNS[code];
  if (code < 32) return String.fromCodePoint(0x2400 + code);
  return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}

// A token as people can read it, as bpe.show.readable gives it.
function readable(token, isBytes, hidden) {
  const visible = (text) => text.replace(hidden, signFor);
  if (!isBytes) return visible(token);
  let shown = "";
  let stray = [];
  const endStray = () => {
    if (stray.length) shown += `[${stray.join(" ")}]`;
    stray = [];
  };
  for (let i = 0; i < token.length; ) {
    const character = characterAt(token, i);
    if (character) endStray();
    else stray.push(token.charCodeAt(i).toString(16).padStart(2, "0"));
    if (character) shown += visible(character.text);
    i += character ? character.length : 1;
  }
  endStray();
  return shown;
}

// --- The encoder

const keyOf = (left, right) => left * 2 ** 26 + right;

function unpackTokenizer(packed, classes) {
  if (packed.alphabet === "pieces") return unpackUnigram(packed);
  const isBytes = packed.alphabet === "bytes";
  const singles = packed.singles === null ? Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)) : Array.from(packed.singles);
  const places = packed.places === null ? singles.map((_, i) => i) : unpackAscending(packed.places);
  const vocabulary = new Map(singles.map((token, i) => [places[i], token]));
  for (const [id, token] of packed.longer) vocabulary.set(id, token);
  const made = packed.made === null ? null : unpackNumbers(packed.made);
  const ranks = new Map();
  const makers = new Map(); // id -> the merge that makes it
  const joints = new Set(); // the pairs of symbols at which merges join tokens
  pairsOf(unpackNumbers(packed.merges)).forEach(([left, right], rank) => {
    const id = made ? made[rank] : packed.first + rank;
    vocabulary.set(id, vocabulary.get(left) + vocabulary.get(right));
    ranks.set(keyOf(left, right), { rank, id });
    makers.set(id, { number: rank + 1, left, right });
    joints.add(Array.from(vocabulary.get(left)).at(-1) + Array.from(vocabulary.get(right))[0]);
  });
  const ids = new Map(Array.from(vocabulary, ([id, token]) => [token, id]));
  const split = packed.split.map(
    (parts) => new RegExp(parts.map((part) => (typeof part === "number" ? classes[part] : part)).join(""), "gu"),
  );
  return { label: packed.label, isBytes, vocabulary, ids, ranks, makers, joints, split, whole: packed.whole, unknown: packed.unknown, unknownName: packed.unknown_name };
}

// The matches of an expression, and the gaps between them.
function cut(text, expression) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(expression)) {
    if (match.index > end) pieces.push(text.slice(end, match.index));
    pieces.push(match[0]);
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

// Cut symbols where no merge reaches across, as bpe.presplit.cut_runs: short runs are merged in less time.
function cutRuns(symbols, joints) {
  const runs = [];
  symbols.forEach((symbol, i) => {
    if (i && joints.has(symbols[i - 1].token + symbol.token)) runs[runs.length - 1].push(symbol);
    else runs.push([symbol]);
  });
  return runs;
}

// Merge the pair that was learned first, everywhere, until no pair was learned.
function applyMerges(tokens, tokenizer) {
  for (;;) {
    let first = null;
    for (let i = 0; i + 1 < tokens.length; i++) {
      const known = tokenizer.ranks.get(keyOf(tokens[i].id, tokens[i + 1].id));
      if (known && (!first || known.rank < first.rank)) {
        first = { ...known, left: tokens[i].id, right: tokens[i + 1].id };
      }
    }
    if (!first) return tokens;
    const merged = [];
    for (let i = 0; i < tokens.length; i++) {
      const found = i + 1 < tokens.length && tokens[i].id === first.left && tokens[i + 1].id === first.right;
      merged.push(found ? { id: first.id, token: tokenizer.vocabulary.get(first.id) } : tokens[i]);
      if (found) i++;
    }
    tokens = merged;
  }
}

const NO_ID = -1; // of a symbol that the tokenizer has no token for

function encodePiece(piece, tokenizer) {
  const whole = tokenizer.isBytes ? toBytes(piece) : piece;
  if (tokenizer.whole && tokenizer.ids.has(whole)) return [{ id: tokenizer.ids.get(whole), token: whole }];
  const symbols = Array.from(whole, (token) => ({ id: tokenizer.ids.get(token) ?? tokenizer.unknown ?? NO_ID, token }));
  return cutRuns(symbols, tokenizer.joints).flatMap((run) => applyMerges(run, tokenizer));
}

// Encode a text: a list of {id, token}. Half of a surrogate pair is no character and gets no id.
function encode(text, tokenizer) {
  const tokens = [];
  for (const part of text.split(/([\ud800-\udfff])/u)) {
    if (/^[\ud800-\udfff]$/u.test(part)) {
      tokens.push({ id: NO_ID, token: part, isText: true });
    } else if (part && tokenizer.scores) {
      tokens.push(...encodeUnigram(part, tokenizer));
    } else if (part) {
      const pieces = tokenizer.split.reduce((longer, each) => longer.flatMap((piece) => cut(piece, each)), [part]);
      for (const piece of pieces) for (const token of encodePiece(piece, tokenizer)) tokens.push(token);
    }
  }
  return tokens;
}

// --- Unigram: of all ways to cut a text, the one with the highest sum of scores, as bpe.subwords.lattice finds it

function unpackUnigram(packed) {
  const ids = unpackNumbers(packed.ids);
  const bytes = Uint8Array.from(atob(packed.scores), (character) => character.charCodeAt(0));
  const numbers = new DataView(bytes.buffer);
  const scores = new Map(packed.pieces.map((piece, i) => [piece, { id: ids[i], score: numbers.getFloat32(4 * i, true) }]));
  const longest = Math.max(...packed.pieces.map((piece) => Array.from(piece).length));
  const { label, prefix, unknown } = packed;
  return { label, isBytes: false, scores, longest, prefix, unknown, unknownName: packed.unknown_name, unknownScore: Math.fround(packed.unknown_score), byteIds: packed.bytes };
}

// For each position, the pieces that end there, the one that begins earliest first.
function latticeOf(characters, tokenizer) {
  return characters.map((character, last) => {
    const edges = [];
    for (let begin = Math.max(0, last + 1 - tokenizer.longest); begin < last; begin++) {
      const token = characters.slice(begin, last + 1).join("");
      const found = tokenizer.scores.get(token);
      if (found) edges.push({ begin, token, ...found });
    }
    const single = tokenizer.scores.get(character) ?? { id: NO_ID, score: tokenizer.unknownScore };
    return [...edges, { begin: last, token: character, ...single }];
  });
}

const FARTHEST = 100_000; // sums restart there, as in bpe.subwords.lattice

function bestPath(lattice) {
  const best = [0];
  const last = [null];
  const restarts = new Map();
  lattice.forEach((edges, i) => {
    let chosen = edges[0];
    let begin = chosen.begin;
    let highest = Math.fround(best[begin] + chosen.score);
    for (const edge of edges.slice(1)) {
      while (begin < edge.begin) highest = Math.fround(highest - (restarts.get(++begin) ?? 0));
      const total = Math.fround(best[edge.begin] + edge.score);
      if (total > highest) {
        highest = total;
        chosen = edge;
        begin = edge.begin;
      }
    }
    if (Math.abs(highest) > FARTHEST) {
      restarts.set(i + 1, highest);
      highest = 0;
    }
    best.push(highest);
    last.push({ ...chosen, end: i + 1 });
  });
  const path = [];
  for (let edge = last[lattice.length]; edge; edge = last[edge.begin]) path.unshift(edge);
  return path;
}

const markSpaces = (text, tokenizer) => (tokenizer.prefix ? "▁" : "") + text.replaceAll(" ", "▁");

// Unknown characters become bytes, or a run of them one unknown token.
function tokensOf(path, tokenizer) {
  const tokens = [];
  let unknownBefore = false;
  for (const { id, token } of path) {
    if (id !== NO_ID) {
      tokens.push({ id, token });
    } else if (tokenizer.byteIds.length) {
      for (const byte of new TextEncoder().encode(token)) {
        tokens.push({ id: tokenizer.byteIds[byte], token: `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>` });
      }
    } else if (!unknownBefore || tokenizer.unknown === null) {
      tokens.push({ id: tokenizer.unknown ?? NO_ID, token });
    } else {
      tokens[tokens.length - 1].token += token;
    }
    unknownBefore = id === NO_ID;
  }
  return tokens;
}

function encodeUnigram(text, tokenizer) {
  return tokensOf(bestPath(latticeOf(Array.from(markSpaces(text, tokenizer)), tokenizer)), tokenizer);
}

// --- What all elements share

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// What a screen reader says, once nothing has changed for a while: not every key.
function makeAnnouncer() {
  const region = make("p", { role: "status", class: "unseen" });
  let timer;
  return {
    region,
    say(message) {
      clearTimeout(timer);
      timer = setTimeout(() => (region.textContent = message), 1000);
    },
  };
}

// A row of tokens: arrow keys go from one to the next, and a line below tells of the current one.
function makeRow(name) {
  const row = make("div", { role: "listbox", "aria-orientation": "horizontal", tabindex: "0", class: "row" });
  const detail = make("p", { class: "detail", "aria-hidden": "true" });
  const element = make("div", {}, row, detail);
  let tokens = [];
  let options = [];
  let current = -1;

  const choose = (index) => {
    options[current]?.setAttribute("aria-selected", "false");
    current = options.length ? Math.min(Math.max(index, 0), options.length - 1) : -1;
    options[current]?.setAttribute("aria-selected", "true");
    if (current < 0) row.removeAttribute("aria-activedescendant");
    else row.setAttribute("aria-activedescendant", options[current].id);
    detail.textContent = current < 0 ? "" : `${current + 1} of ${options.length}: ${tokens[current].about}`;
  };
  const leave = () => {
    choose(-1);
    options[current]?.setAttribute("aria-selected", "false");
    current = -1;
    detail.textContent = "";
  };
  const keys = { ArrowRight: () => current + 1, ArrowLeft: () => current - 1, Home: () => 0, End: () => options.length - 1 };
  row.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(keys[event.key]());
    options[current]?.scrollIntoView({ block: "nearest" });
  });
  row.addEventListener("focus", () => current < 0 && choose(0));
  row.addEventListener("blur", leave);
  const optionOf = (event) => options.indexOf(event.target.closest("[role=option]"));
  row.addEventListener("pointerover", (event) => optionOf(event) >= 0 && choose(optionOf(event)));
  row.addEventListener("pointerleave", () => row.matches(":focus") || leave());

  // Show tokens: {shown, about, id}, ids only where they are wanted.
  const show = (shownTokens, withIds = false) => {
    tokens = shownTokens;
    options = tokens.map((token, i) => {
      const option = make("span", { role: "option", id: `${name}-${i}`, class: `token c${i % 3}`, "aria-selected": "false", "aria-label": token.about }, token.shown);
      if (token.id === NO_ID) option.classList.add("none");
      if (withIds) option.append(make("span", { class: "id" }, token.id === NO_ID ? "–" : String(token.id)));
      return option;
    });
    const children = options.flatMap((option, i) => {
      const bar = make("span", { "aria-hidden": "true", class: "bar" }, "│");
      const ends = tokens[i].shown.endsWith("⏎") ? [make("br")] : [];
      return i + 1 < options.length ? [option, bar, ...ends] : [option];
    });
    row.replaceChildren(...children);
    row.setAttribute("aria-label", `${name}: ${count(tokens.length, "token")}`);
    current = -1;
    if (row.matches(":focus")) choose(0);
    else detail.textContent = "";
  };
  return { element, show };
}

// What the line below a row tells of a token.
function describe({ id, token, isText }, tokenizer, hidden) {
  const isBytes = tokenizer.isBytes && !isText;
  const shown = readable(token, isBytes, hidden);
  const bytes = isBytes ? Array.from(token, (byte) => byte.charCodeAt(0).toString(16).padStart(2, "0")) : [];
  if (id === tokenizer.unknown) {
    const name = readable(tokenizer.unknownName, false, hidden);
    return { shown: name, id, about: `${name}, id ${id}; for ${shown}` };
  }
  const spelled = bytes.length ? `; ${count(bytes.length, "byte")}, ${bytes.join(" ")}` : "";
  const missing = isText ? "half of a character, which no tokenizer takes" : "this tokenizer has no token for it";
  return { shown, id, about: id === NO_ID ? `${shown}: ${missing}` : `${shown}, id ${id}${spelled}` };
}

// A table of one row for each name, which stays a table for screen readers where it is narrow.
function makeTable(names, caption) {
  const rows = names.map((name) => {
    const header = make("span", { class: "name" }, name);
    const figures = make("span", { class: "figures" });
    const row = makeRow(name);
    const cells = [make("th", { role: "rowheader", scope: "row" }, header, figures), make("td", { role: "cell" }, row.element)];
    return { figures, row, element: make("tr", { role: "row" }, ...cells) };
  });
  const table = make("table", { role: "table", "aria-label": caption }, ...rows.map((row) => row.element));
  return { table, rows };
}

// --- The explorer: type, and see the tokens of several tokenizers

const LONGEST_TEXT = 5000;

function makeExplorer(data) {
  const tokenizers = unpackTokenizers(data);
  const field = make("textarea", { rows: "2", maxlength: LONGEST_TEXT, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const ids = make("input", { type: "checkbox" });
  const size = make("span", { class: "figures" });
  const { table, rows } = makeTable(tokenizers.map((each) => each.label), "Tokens");
  const announcer = makeAnnouncer();

  const update = () => {
    const text = field.value;
    const characters = Array.from(text).length;
    const bytes = new TextEncoder().encode(text).length;
    size.textContent = `${count(characters, "character")}, ${count(bytes, "byte")}`;
    const said = tokenizers.map((tokenizer, i) => {
      const tokens = encode(text, tokenizer).map((token) => describe(token, tokenizer, data.hidden));
      rows[i].row.show(tokens, ids.checked);
      const each = characters ? `${(tokens.length / characters).toFixed(2)} a character` : "";
      rows[i].figures.replaceChildren(make("span", {}, count(tokens.length, "token")), " ", make("span", {}, each));
      return `${tokenizer.label}: ${count(tokens.length, "token")}`;
    });
    announcer.say(`${size.textContent}. ${said.join("; ")}.`);
  };
  field.value = data.text;
  field.addEventListener("input", update);
  ids.addEventListener("change", update);
  update();
  const above = make("div", { class: "controls" }, size, make("label", {}, ids, " show ids"));
  return [make("label", { class: "wide" }, make("span", {}, "Type a text"), field), above, table, announcer.region];
}

// --- The steps of training, worked out by Python: this only shows them

function makeSteps(data) {
  const { ends, steps, isBytes } = data;
  const symbols = Array.from(data.symbols);
  const last = steps.length - 1;
  const tokenizer = { isBytes };
  const known = [...data.base, ...data.made];
  const vocabularyById = new Map(known);
  const idsByToken = new Map(known.map(([id, token]) => [token, id]));
  const shownOf = (id) => readable(vocabularyById.get(id), isBytes, data.hidden);

  const slider = make("input", { type: "range", min: "0", max: last, value: "0", "aria-label": "merges" });
  const back = make("button", { type: "button" }, "‹ back");
  const next = make("button", { type: "button" }, "next ›");
  const where = make("output", { class: "figures" });
  const { table, rows } = makeTable(["text"], "The text in tokens");
  const following = make("p", { class: "following" });
  const pairs = make("tbody");
  const vocabulary = make("ol", { class: "vocabulary" });
  const heading = make("p");
  const announcer = makeAnnouncer();

  // The tokens after k merges: symbols stay together where the boundary between them is gone by then.
  const tokensAfter = (k) => {
    const tokens = [""];
    symbols.forEach((symbol, i) => {
      tokens[tokens.length - 1] += symbol;
      if (i + 1 < symbols.length && (ends[i] === 0 || ends[i] > k)) tokens.push("");
    });
    return symbols.length ? tokens.map((token) => ({ id: idsByToken.get(token) ?? NO_ID, token })) : [];
  };
  const token = (id, place) => make("span", { class: `token c${place}` }, shownOf(id));
  const pairOf = ([left, right]) => make("span", { class: "pair" }, token(left, 0), make("span", { class: "bar" }, "│"), token(right, 1));

  const update = () => {
    const k = Number(slider.value);
    const step = steps[k];
    const tokens = tokensAfter(k);
    rows[0].row.show(tokens.map((each) => describe(each, tokenizer, data.hidden)));
    rows[0].figures.textContent = count(tokens.length, "token");
    where.textContent = `${k} of ${count(last, "merge")}`;
    slider.setAttribute("aria-valuetext", `${count(k, "merge")}, ${count(tokens.length, "token")}`);
    back.disabled = k === 0;
    next.disabled = k === last;
    following.replaceChildren(...sayNext(step, pairOf));
    pairs.replaceChildren(
      ...step.top.map(([left, right, times]) => {
        const taken = step.pair && step.pair[0] === left && step.pair[1] === right;
        const level = times === step.most && step.tied > 1;
        const note = taken ? (level ? "next: first of the tied" : "next") : level ? "tied" : "";
        return make("tr", taken ? { class: "taken" } : {}, make("td", {}, pairOf([left, right])), make("td", { class: "number" }, String(times)), make("td", {}, note));
      }),
    );
    const symbolsKnown = count(data.base_size, data.isBytes ? "byte" : "character");
    heading.textContent = `Vocabulary: ${symbolsKnown}${k ? ` and ${count(k, "merged token")}` : ""}`;
    vocabulary.replaceChildren(
      ...data.made.slice(0, k).map(([id], i) => {
        const newest = i + 1 === k;
        return make("li", newest ? { class: "newest" } : {}, make("span", { class: "id" }, String(id)), token(id, i % 3), newest ? " new" : "");
      }),
    );
    announcer.say(`After ${count(k, "merge")}: ${count(tokens.length, "token")}. ${following.textContent}`);
  };
  const go = (change) => {
    slider.value = String(Number(slider.value) + change);
    update();
  };
  keepHeight(rows[0].row.element);
  slider.addEventListener("input", update);
  back.addEventListener("click", () => go(-1));
  next.addEventListener("click", () => go(1));
  update();
  const head = make("tr", {}, ...["pair", "times", "note"].map((name) => make("th", { scope: "col" }, name)));
  const panels = make(
    "div",
    { class: "panels" },
    make("div", { role: "group", "aria-label": "the most frequent pairs" }, following, make("table", { class: "pairs" }, make("thead", {}, head), pairs)),
    make("div", { role: "group", "aria-label": "the vocabulary" }, heading, vocabulary),
  );
  return [make("div", { class: "controls" }, back, slider, next, where), table, panels, announcer.region];
}

// An element keeps the height it once had, as long as its width stays: what is below does not jump.
function keepHeight(element) {
  let width = 0;
  new ResizeObserver(() => {
    if (element.offsetWidth !== width) element.style.minHeight = "";
    width = element.offsetWidth;
    element.style.minHeight = `${element.offsetHeight}px`;
  }).observe(element);
}

function sayNext(step, pairOf) {
  if (!step.pair) return [step.most > 1 ? "The merges end here." : "No pair occurs twice, so nothing is left to merge."];
  const times = step.times === 1 ? "once" : `${step.times} times`;
  const pair = ["Next merge: ", pairOf(step.pair), `, ${times}`];
  if (!step.is_first) return [...pair, ". It was learned from another text; here it does not come first."];
  if (step.tied === 1) return [...pair, ". No other pair occurs as often."];
  const others = step.others.flatMap((other, i) => [i ? ", " : " ", pairOf(other)]);
  const more = step.tied - 1 - step.others.length;
  return [...pair, ". A tie with", ...others, more ? ` and ${more} more` : "", ": of equals, the one that occurs first in the text is taken."];
}

// --- The trees of one's own word

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#bfe0ff", "#ffd98a", "#dcdcdc"];

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The field for a word, a line of figures, and the place for a picture that may be wider than the page.
function makeWordField(data, name) {
  const field = make("input", { type: "text", maxlength: "60", spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const size = make("span", { class: "figures" });
  const picture = make("div", { class: "picture", tabindex: "0", role: "group", "aria-label": name });
  field.value = data.text;
  const above = [make("label", { class: "wide" }, make("span", {}, "Type a word"), field), make("div", { class: "controls" }, size)];
  return { field, size, picture, above, announcer: makeAnnouncer() };
}

// A token and the two trees that were merged into it.
function growTree({ id, token, isText }, tokenizer, hidden) {
  const label = readable(token, tokenizer.isBytes && !isText, hidden);
  const maker = tokenizer.makers.get(id);
  if (!maker) return { id, label, parts: [], height: 0 };
  const parts = [maker.left, maker.right].map((part) => growTree({ id: part, token: tokenizer.vocabulary.get(part) }, tokenizer, hidden));
  return { id, label, number: maker.number, parts, height: 1 + Math.max(...parts.map((part) => part.height)) };
}

const widthOf = (text) => Array.from(text).reduce((sum, each) => sum + (each.codePointAt(0) > 0x2e7f ? 15 : 8.5), 14);
const LEVEL = 60;

// Draw a tree whose leaves begin at x; returns where the next tree begins and where the root is.
function drawTree(tree, x, top, colour, lines, nodes) {
  const width = Math.max(widthOf(tree.label), 26);
  const y = top - tree.height * LEVEL;
  let end = x;
  const roots = tree.parts.map((part) => {
    const drawn = drawTree(part, end, top, colour, lines, nodes);
    end = drawn.end;
    return drawn;
  });
  end = Math.max(end, x + width + 8);
  const centre = roots.length ? (roots[0].centre + roots[1].centre) / 2 : x + width / 2;
  for (const root of roots) lines.push(draw("line", { x1: centre, y1: y, x2: root.centre, y2: root.y, class: "edge" }));
  const number = tree.number ? [draw("text", { x: centre, y: y + 19, class: "number" }, String(tree.number))] : [];
  nodes.push(draw("rect", { x: centre - width / 2, y: y - 13, width, height: tree.number ? 37 : 26, rx: 4, fill: colour, class: "node" }));
  nodes.push(draw("text", { x: centre, y: y + 5, class: "label" }, tree.label), ...number);
  return { end, centre, y };
}

function listTree(tree) {
  const about = tree.number ? `${tree.label}, made by merge ${tree.number}` : tree.label;
  return make("li", {}, about, ...(tree.parts.length ? [make("ul", {}, ...tree.parts.map(listTree))] : []));
}

function makeTrees(data) {
  const [tokenizer] = unpackTokenizers(data);
  const { field, size, picture, announcer, above } = makeWordField(data, "The trees, drawn");
  const list = make("ul", {});

  const update = () => {
    const trees = encode(field.value, tokenizer).map((token) => growTree(token, tokenizer, data.hidden));
    const height = Math.max(0, ...trees.map((tree) => tree.height));
    const lines = [];
    const nodes = [];
    let x = 4;
    trees.forEach((tree, i) => (x = drawTree(tree, x, 20 + height * LEVEL, COLOURS[i % 3], lines, nodes).end + 8));
    const total = { width: Math.max(x, 10), height: 40 + height * LEVEL };
    picture.replaceChildren(draw("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "aria-hidden": "true" }, ...lines, ...nodes));
    list.replaceChildren(...trees.map(listTree));
    size.textContent = `${count(trees.length, "token")}; the number in a node is its merge`;
    announcer.say(`${count(trees.length, "token")}: ${trees.map((tree) => tree.label).join(", ")}`);
  };
  field.addEventListener("input", update);
  update();
  return [...above, picture, make("details", {}, make("summary", {}, "the trees as a list"), list), announcer.region];
}

// --- The lattice of one's own word: all ways to cut it

const minus = (number) => number.toFixed(2).replace("-", "−");
const STEP = 56;

// An arc for each piece, higher for longer ones; those of the best way are thick.
function drawLattice(characters, lattice, path, signed) {
  const best = new Set(path.map((edge) => `${edge.begin}-${edge.end}`));
  const longest = Math.max(1, ...lattice.map((edges, i) => i + 1 - edges[0].begin));
  const base = 34 + 24 * longest;
  const x = (place) => 24 + place * STEP;
  const arcs = [];
  const labels = [];
  lattice.forEach((edges, i) => {
    for (const edge of edges) {
      const end = i + 1;
      const rise = end - edge.begin === 1 ? 0 : 24 * (end - edge.begin);
      const middle = (x(edge.begin) + x(end)) / 2;
      const isBest = best.has(`${edge.begin}-${end}`);
      const curve = `M ${x(edge.begin)} ${base} Q ${middle} ${base - 2 * rise} ${x(end)} ${base}`;
      arcs[isBest ? "push" : "unshift"](draw("path", { d: curve, class: isBest ? "best" : "way" }));
      if (rise) labels.push(draw("text", { x: middle, y: base - rise - 5, class: isBest ? "on best" : "on" }, signed(edge.token)));
    }
  });
  const places = Array.from({ length: characters.length + 1 }, (_, i) => draw("circle", { cx: x(i), cy: base, r: 5, class: "place" }));
  const letters = characters.map((character, i) => draw("text", { x: x(i) + STEP / 2, y: base + 22, class: "on" }, signed(character)));
  const size = { width: x(characters.length) + 24, height: base + 32 };
  return draw("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" }, ...arcs, ...places, ...labels, ...letters);
}

function makeLattice(data) {
  const [tokenizer] = unpackTokenizers(data);
  const signed = (text) => readable(text, false, data.hidden);
  const { field, size, picture, announcer, above } = makeWordField(data, "The lattice, drawn");
  const { table, rows } = makeTable(["best"], "The best way in tokens");
  const body = make("tbody");
  const head = make("tr", {}, ...["piece", "score", "best way"].map((name) => make("th", { scope: "col" }, name)));
  const list = make("table", { class: "pairs" }, make("thead", {}, head), body);

  const update = () => {
    const text = field.value.replace(/[\ud800-\udfff]/gu, "");
    const characters = text ? Array.from(markSpaces(text, tokenizer)) : [];
    const lattice = latticeOf(characters, tokenizer);
    const path = bestPath(lattice);
    const tokens = tokensOf(path, tokenizer).map((token) => describe(token, tokenizer, data.hidden));
    const ways = lattice.reduce((sums, edges) => [...sums, edges.reduce((sum, edge) => sum + sums[edge.begin], 0)], [1]);
    const total = path.reduce((sum, edge) => sum + edge.score, 0);
    const number = ways[lattice.length];
    size.textContent = `${number < 1e15 ? count(number, "way") : `about ${number.toExponential(1)} ways`} to cut it; the best has the score ${minus(total)}`;
    picture.replaceChildren(drawLattice(characters, lattice, path, signed));
    rows[0].row.show(tokens);
    rows[0].figures.textContent = count(tokens.length, "token");
    const taken = new Set(path.map((edge) => `${edge.begin}-${edge.end}`));
    body.replaceChildren(
      ...lattice.flatMap((edges, i) =>
        edges.map((edge) => {
          const score = edge.id === NO_ID ? `${minus(edge.score)}, unknown` : minus(edge.score);
          const isBest = taken.has(`${edge.begin}-${i + 1}`);
          return make("tr", {}, make("td", {}, signed(edge.token)), make("td", { class: "number" }, score), make("td", {}, isBest ? "yes" : ""));
        }),
      ),
    );
    announcer.say(`${size.textContent}. ${count(tokens.length, "token")}: ${tokens.map((token) => token.shown).join(", ")}`);
  };
  field.addEventListener("input", update);
  update();
  return [...above, picture, table, make("details", {}, make("summary", {}, "all pieces and their scores"), list), announcer.region];
}

// --- Starting

function unpackTokenizers(data) {
  const classes = data.classes.map(unpackClass);
  return data.tokenizers.map((packed) => unpackTokenizer(packed, classes));
}

const MAKERS = { explorer: makeExplorer, steps: makeSteps, trees: makeTrees, lattice: makeLattice };

// Put the live part in place of the picture. If anything fails, the picture stays.
function start(root) {
  if (!root || root.shadowRoot) return;
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  data.hidden = new RegExp(unpackClass(data.hidden), "gu");
  const content = MAKERS[data.element](data);
  const shadow = root.attachShadow({ mode: "open" });
  shadow.append(make("style", {}, data.css), make("div", { class: "live" }, ...content));
  // Jupyter takes keys as commands: D D would delete the cell.
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const name of ["keydown", "keypress", "keyup"]) root.addEventListener(name, (event) => event.stopPropagation());
}

if (typeof document !== "undefined") {
  const roots = document.currentScript ? [document.currentScript.parentElement] : document.querySelectorAll(".bpe-live");
  roots.forEach(start);
}
