"use strict";
// The operators' page. What comes from boxes and people is only ever set as text.

const WORDS = {
  en: {
    title: "shops", other: "中文", token: "Operator's token", enter: "Enter",
    push: "Say it in every shop", zh: "Mandarin", gd: "Cantonese", sc: "Sichuan",
    hear: "Hear it here", send: "Push to all boxes", boxes: "Boxes", phrases: "Phrases",
    box: "Box", line: "Line", seen: "Last seen", software: "Version", packs: "Packs",
    has: "Phrases", tiers: "Spoken by", up: "up", gone: "gone", never: "never",
    clock: "clock is wrong",
    doubled: "two machines use this name: enrol one anew",
    text: "Text", voice: "Voice", dialect: "Dialect",
    scope: "For", state: "State", told: "Boxes told", done: "in the catalogue",
    waiting: "being rendered", refused: "refused", play: "▶ Hear", remove: "Remove",
    noBox: "No box yet: yaohe-cloud boxes invite NAME", noPhrase: "No phrase yet.",
    pushed: "It is being rendered and goes to the boxes by itself.", more: "and more:",
    sure: "Take this phrase out of every box?", silent: "The cloud does not answer.",
  },
  zh: {
    title: "门店", other: "English", token: "运营口令", enter: "进入",
    push: "让每家门店都会说", zh: "普通话", gd: "粤语", sc: "四川话",
    hear: "在这里试听", send: "推送到所有盒子", boxes: "盒子", phrases: "短语",
    box: "盒子", line: "连接", seen: "最近联系", software: "版本", packs: "语音包",
    has: "短语", tiers: "由谁播出", up: "在线", gone: "离线", never: "从未",
    clock: "时钟不对", doubled: "两台机器用了同一个名字：请给其中一台重新注册",
    text: "文字", voice: "嗓音", dialect: "方言",
    scope: "范围", state: "状态", told: "已知盒子", done: "已入目录",
    waiting: "正在合成", refused: "被拒绝", play: "▶ 试听", remove: "删除",
    noBox: "还没有盒子：yaohe-cloud boxes invite 名称", noPhrase: "还没有短语。",
    pushed: "正在合成，完成后会自动送到盒子。", more: "另外还有：",
    sure: "要从所有盒子删除这句话吗？", silent: "云端没有应答。",
  },
};
const EVERY_MS = 5000;
const at = id => document.getElementById(id);
const state = {
  language: /^zh/i.test(navigator.language) ? "zh" : "en",
  timer: 0,
  isOwnError: false,
};
const say = name => WORDS[state.language][name];

async function call(path, options = {}) {
  const headers = { ...options.headers };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new Error(say("silent"));
  }
  if (answer.status === 401) at("enter").hidden = false;
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => null);
  throw new Error(told?.error?.message ?? `HTTP ${answer.status}`);
}

// Do something a person asked for; what goes wrong is said in words.
async function attempt(work) {
  at("error").textContent = "";
  state.isOwnError = false;
  try {
    await work();
  } catch (error) {
    at("error").textContent = error.message;
  }
}

function row(table, cells) {
  const line = table.insertRow();
  for (const [content, kind] of cells) {
    const cell = line.insertCell();
    if (kind) cell.className = kind;
    cell.append(...(Array.isArray(content) ? content : [String(content)]));
  }
}

function begin(table, names) {
  table.replaceChildren();
  const line = table.createTHead().insertRow();
  for (const name of names) {
    const cell = document.createElement("th");
    cell.textContent = name && say(name);
    line.append(cell);
  }
  return table.createTBody();
}

function none(body, columns, words) {
  const cell = body.insertRow().insertCell();
  cell.colSpan = columns;
  cell.className = "none";
  cell.textContent = words;
}

function button(name, work) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = say(name);
  made.addEventListener("click", () => attempt(work));
  return made;
}

const when = seconds => seconds === null
  ? say("never")
  : new Date(seconds * 1000).toLocaleString(state.language === "zh" ? "zh-CN" : "en-GB");

function showBoxes(boxes) {
  const names = ["box", "line", "seen", "software", "packs", "has", "tiers", ""];
  const body = begin(at("boxes"), names);
  for (const box of boxes)
    row(body, [
      [box.groups.length ? `${box.box} (${box.groups.join(" ")})` : box.box],
      box.is_up ? [say("up"), "up"] : [say("gone"), "gone"],
      [when(box.seen)], [box.software || "–"], [box.packs.join(" ") || "–"],
      [box.phrases],
      [Object.entries(box.tiers).sort().map(([t, n]) => `${t} ${n}`).join(", ") || "–"],
      [[box.clock_suspect && say("clock"), box.doubled && say("doubled")]
        .filter(Boolean).join(", ")],
    ]);
  if (!boxes.length) none(body, names.length, say("noBox"));
}

function showPhrases({ phrases, wishes, count }, boxes) {
  const names = ["text", "voice", "dialect", "scope", "state", "told", ""];
  const body = begin(at("phrases"), names);
  const meant = scope => boxes.filter(
    box => !scope.startsWith("g/") || box.groups.includes(scope.slice(2))).length;
  for (const wish of wishes)
    row(body, [
      [wish.text, "text"], [wish.voice], [say(wish.dialect)], [wish.scope],
      [say(wish.state) + (wish.error ? `: ${wish.error}` : ""), wish.state],
      ["–"], [""],
    ]);
  for (const phrase of phrases) {
    const path = `/v1/fleet/phrases/${encodeURIComponent(phrase.key)}`;
    const scope = `?scope=${encodeURIComponent(phrase.scope)}`;
    row(body, [
      [phrase.text, "text"], [phrase.voice], [say(phrase.dialect)], [phrase.scope],
      [say("done"), "done"], [`${phrase.boxes.length} / ${meant(phrase.scope)}`],
      [[
        button("play", () => play(`${path}/sound${scope}`)),
        button("remove", async () => {
          if (!confirm(say("sure"))) return;
          await call(path + scope, { method: "DELETE" });
          await look();
        }),
      ], "does"],
    ]);
  }
  if (count > phrases.length)
    none(body, names.length, `${say("more")} ${count - phrases.length}`);
  if (!wishes.length && !phrases.length) none(body, names.length, say("noPhrase"));
}

async function play(path) {
  const sound = await (await call(path)).blob();
  const player = at("player");
  URL.revokeObjectURL(player.src);
  player.src = URL.createObjectURL(sound);
  await player.play().catch(() => {});
}

async function look() {
  const { boxes } = await (await call("/v1/fleet/boxes")).json();
  const phrases = await (await call("/v1/fleet/phrases")).json();
  at("enter").hidden = true;
  showBoxes(boxes);
  showPhrases(phrases, boxes);
}

async function lookOn() {
  clearTimeout(state.timer);
  try {
    await look();
    // The engine may have been loading when the page was.
    if (!at("voice").length) await fillVoices();
    if (state.isOwnError) at("error").textContent = "";
    state.isOwnError = false;
  } catch (error) {
    at("error").textContent = error.message;
    state.isOwnError = true;
  }
  // With a token to type there is nothing to see yet.
  if (at("enter").hidden) state.timer = setTimeout(lookOn, EVERY_MS);
}

async function fillVoices() {
  const { data } = await (await call("/v1/audio/voices")).json();
  at("voice").replaceChildren(...data.map(({ id }) => new Option(id, id)));
}

function speakLanguage() {
  document.documentElement.lang = state.language === "zh" ? "zh-CN" : "en";
  for (const part of document.querySelectorAll("[data-say]"))
    part.textContent = say(part.dataset.say);
  at("language").textContent = say("other");
  for (const name of ["text", "voice", "dialect"]) at(name).ariaLabel = say(name);
}

at("language").addEventListener("click", () => {
  state.language = state.language === "zh" ? "en" : "zh";
  speakLanguage();
  lookOn();
});
at("enter").addEventListener("submit", event => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value.trim());
  at("token").value = "";
  at("enter").hidden = true;
  lookOn();
});
at("hear").addEventListener("click", () => attempt(() => play(
  "/v1/audio/speech?" + new URLSearchParams({
    input: at("text").value, voice: at("voice").value,
    dialect: at("dialect").value, response_format: "wav",
  }))));
at("push").addEventListener("submit", event => {
  event.preventDefault();
  at("told").textContent = "";
  attempt(async () => {
    await call("/v1/fleet/phrases", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        text: at("text").value, voice: at("voice").value, dialect: at("dialect").value,
      }),
    });
    at("told").textContent = say("pushed");
    await look();
  });
});

window.yaohe = { state, look };
speakLanguage();
lookOn();
