// Runs the functions of bpe/live/live.js on what comes in, as JSON, and writes what they give.
"use strict";
const fs = require("fs");
const code = fs.readFileSync(process.argv[2], "utf8");
const live = new Function(`${code}\nreturn { encode, readable, unpackTokenizers, unpackClass, toBytes };`)();
const { data, texts, tokens, classes } = JSON.parse(fs.readFileSync(0, "utf8"));
const hidden = new RegExp(live.unpackClass(data.hidden), "gu");
const tokenizers = live.unpackTokenizers(data);
function ranges(expression) {
  const found = [];
  let start = -1;
  for (let code = 0; code <= 0x110000; code++) {
    const is = code < 0x110000 && (code < 0xd800 || code > 0xdfff) && expression.test(String.fromCodePoint(code));
    if (is && start < 0) start = code;
    if (!is && start >= 0 && (code < 0xd800 || code > 0xdfff)) {
      found.push([start, code - 1]);
      start = -1;
    }
  }
  return found;
}

const result = {
  ids: tokenizers.map((tokenizer) => (texts ?? []).map((text) => live.encode(text, tokenizer).map(({ id }) => id))),
  // The code points that an expression of JavaScript matches, as ranges.
  members: (classes ?? []).map((source) => ranges(new RegExp(`^${source}$`, "u"))),
  readable: (tokens ?? []).map(([token, isBytes]) => live.readable(token, isBytes, hidden)),
};
process.stdout.write(JSON.stringify(result));
