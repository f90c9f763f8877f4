// The box's player: speaks what it is told over WS /v1/stream.
//
// Rules: Opus through WebCodecs where the page is a secure context, else pcm through
// buffer source nodes; a socket that breaks is opened again and the stream resumed where
// it was; what the browser blocks is said in words, with a button.
"use strict";

const RATE = 24000;
const HEADER = 20;
const CODEC_OPUS = 1, CODEC_PCM = 2;
const FLAG_LAST = 1, FLAG_DISCONTINUITY = 4;
const LEAD_S = 0.08; // sound is scheduled this far ahead, so that jitter is not heard
const ACK_EVERY = 10;
const FIRST_PAUSE_MS = 200, MAX_PAUSE_MS = 5000;

const at = id => document.getElementById(id);
const hasCodecs = () => window.isSecureContext && "AudioDecoder" in window;

/** Puts samples one after the other into the audio graph. */
class Speaker {
  constructor() {
    this.context = new AudioContext({ sampleRate: RATE });
    this.out = this.context.createGain();
    this.meter = this.context.createAnalyser();
    this.out.connect(this.meter);
    this.meter.connect(this.context.destination);
    this.until = 0;
    this.scheduled = 0;
    this.sources = new Set();
  }

  get isBlocked() { return this.context.state !== "running"; }

  play(samples) {
    if (!samples.length) return;
    const buffer = this.context.createBuffer(1, samples.length, RATE);
    buffer.copyToChannel(samples, 0);
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.out);
    this.until = Math.max(this.until, this.context.currentTime + LEAD_S);
    source.start(this.until);
    this.until += samples.length / RATE;
    this.scheduled += samples.length;
    this.sources.add(source);
    source.onended = () => this.sources.delete(source);
  }

  stop() {
    for (const source of this.sources) source.stop();
    this.sources.clear();
    this.until = 0;
  }
}

/** Opus packets of one segment into samples, its beginning and end trimmed. */
class OpusSegment {
  constructor(preSkip, give) {
    this.skip = Math.round(preSkip / 48000 * RATE);
    this.left = Infinity;
    this.held = new Float32Array(0);
    this.given = 0;
    this.give = give;
    this.decoder = new AudioDecoder({
      output: data => this.take(data),
      error: failure => fail(`解码失败 decoding failed: ${failure.message}`),
    });
    this.decoder.configure({ codec: "opus", sampleRate: RATE, numberOfChannels: 1 });
  }

  decode(payload, timestamp) {
    this.decoder.decode(new EncodedAudioChunk({
      type: "key", timestamp: Math.round(timestamp / RATE * 1e6), data: payload,
    }));
  }

  take(data) {
    let samples = new Float32Array(data.numberOfFrames);
    data.copyTo(samples, { planeIndex: 0, format: "f32-planar" });
    // Some browsers decode Opus to 48 kHz whatever they were told. What was encoded at
    // 24 kHz holds nothing above 12 kHz, so every other sample says all.
    const factor = Math.round(data.sampleRate / RATE);
    data.close();
    if (factor > 1) {
      samples = Float32Array.from(
        { length: Math.floor(samples.length / factor) }, (_, n) => samples[n * factor]);
    }
    const skipped = Math.min(this.skip, samples.length);
    this.skip -= skipped;
    // The last packet's worth waits until it is known where the segment ends.
    const ready = new Float32Array(this.held.length + samples.length - skipped);
    ready.set(this.held);
    ready.set(samples.subarray(skipped), this.held.length);
    const count = Math.max(0, ready.length - 480);
    this.pass(ready.subarray(0, count));
    this.held = ready.slice(count);
  }

  pass(samples) {
    this.given += samples.length;
    this.give(samples.slice());
  }

  async finish(total) {
    await this.decoder.flush();
    this.pass(this.held.subarray(0, Math.max(0, total - this.given)));
    this.held = new Float32Array(0);
    this.decoder.close();
  }
}

/** One stream: what was asked, what has come. */
class Stream {
  constructor(number, start) {
    this.number = number;
    this.start = { type: "start", stream: number, ...start };
    this.token = null;
    this.next = 0;
    this.isOver = false;
    this.segment = null;
    this.told = [];
  }

  opening() {
    return this.token === null ? this.start
      : { type: "resume", stream: this.number, token: this.token, seq: this.next };
  }

  frame(view) {
    const seq = view.getUint32(8);
    if (seq !== this.next) return;
    this.next = seq + 1;
    if (this.next % ACK_EVERY === 0 || view.getUint16(2) & FLAG_LAST) {
      send({ type: "ack", stream: this.number, seq: this.next });
    }
    if (view.byteLength === HEADER) return;
    const payload = new Uint8Array(view.buffer, HEADER);
    if (view.getUint8(1) === CODEC_OPUS) {
      this.segment.decode(payload, Number(view.getBigUint64(12)));
    } else if (view.getUint8(1) === CODEC_PCM) {
      const samples = new Float32Array(payload.length / 2);
      for (let n = 0; n < samples.length; n++)
        samples[n] = view.getInt16(HEADER + 2 * n, true) / 32768;
      speaker.play(samples);
    }
  }

  message(said) {
    if (said.type === "started") this.token = said.token;
    else if (said.type === "receipt" && !this.told[said.segment]) {
      this.told[said.segment] = said;
      if (this.start.codec === "opus")
        this.segment = new OpusSegment(said.pre_skip, samples => speaker.play(samples));
      show(said);
    } else if (said.type === "spoken" && this.segment) {
      const segment = this.segment;
      this.segment = null;
      segment.finish(said.samples);
      if (said.notes.length) note(said);
    } else if (said.type === "spoken") {
      if (said.notes.length) note(said);
    } else if (said.type === "end") {
      this.isOver = true;
      state.ends.push(said);
      speaking = speaking === this ? null : speaking;
    } else if (said.type === "error") {
      this.isOver = true;
      speaking = speaking === this ? null : speaking;
      fail(said.error.message);
    }
  }
}

const state = { ends: [], cuts: 0, codec: null };
let speaker = null;
let socket = null;
let pause = FIRST_PAUSE_MS;
let speaking = null;
let count = 0;

function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

// A box that is guarded is opened as /player?token=…
const shown = new URLSearchParams(location.search).get("token");
const query = shown === null ? "" : `?token=${encodeURIComponent(shown)}`;

/** A browser does not tell why a socket was refused: ask what may be asked. */
async function explain() {
  const answer = await fetch(`/v1/receipts/none${query}`).catch(() => null);
  if (answer && answer.status === 401)
    fail("需要令牌 this box wants its token: /player?token=…");
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let wasOpen = false;
  socket = new WebSocket(`${scheme}://${location.host}/v1/stream${query}`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    wasOpen = true;
    pause = FIRST_PAUSE_MS;
    line("on", "已连接 connected");
    if (speaking) send(speaking.opening());
    voices();
  };
  socket.onmessage = event => {
    if (event.data instanceof ArrayBuffer) {
      const view = new DataView(event.data);
      if (speaking && view.getUint32(4) === speaking.number) speaking.frame(view);
      return;
    }
    const said = JSON.parse(event.data);
    const number = said.stream ?? said.refused;
    if (speaking && number === speaking.number) speaking.message(said);
    else if (said.type === "error") fail(said.error.message);
  };
  socket.onclose = () => {
    state.cuts += 1;
    if (!wasOpen) explain();
    line("off", "断开，正在重连 reconnecting");
    setTimeout(connect, pause * (0.5 + Math.random()));
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
  };
}

function say(text, options = {}) {
  fail("");
  speaker ??= listen();
  if (speaking) {
    send({ type: "cancel", stream: speaking.number });
    speaker.stop();
  }
  const codec = hasCodecs() ? "opus" : "pcm";
  state.codec = codec;
  speaking = new Stream(++count, { codec, input: text, ...options });
  send(speaking.opening());
  look();
}

function stop() {
  if (speaking) send({ type: "cancel", stream: speaking.number });
  // What is still on its way is not played any more.
  speaking = null;
  if (speaker) speaker.stop();
}

function listen() {
  const made = new Speaker();
  made.context.onstatechange = look;
  window.yaohe.tap(made);
  return made;
}

/** Say plainly whether the browser lets sound out. */
function look() {
  at("unlock").hidden = !speaker || !speaker.isBlocked;
}

function show(said) {
  at("text").textContent = said.text;
  at("tier").textContent = said.tier;
  at("reason").textContent =
    said.reason + (said.substituted ? `；代替 substituted: ${said.substituted}` : "");
}

function note(said) {
  at("tier").textContent = said.tiers.join(" → ");
  at("reason").textContent = said.notes.join("；");
}

function fail(message) { at("error").textContent = message; }

function line(name, text) {
  at("line").dataset.state = name;
  at("line-text").textContent = text;
}

function meter() {
  if (speaker) {
    const wave = new Float32Array(speaker.meter.fftSize);
    speaker.meter.getFloatTimeDomainData(wave);
    const peak = wave.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    at("level").firstElementChild.style.width = `${Math.min(100, peak * 140)}%`;
  }
  requestAnimationFrame(meter);
}

async function voices() {
  try {
    const listed = await (await fetch("/v1/audio/voices")).json();
    const chosen = at("voice").value;
    at("voice").replaceChildren(...listed.data.map(one => new Option(one.id, one.id)));
    if (listed.data.some(one => one.id === chosen)) at("voice").value = chosen;
  } catch { /* the box is not there yet; the socket's state says so */ }
}

window.yaohe = {
  state, say, stop,
  get speaker() { return speaker; },
  /** Called with the speaker when it is made; a page or a test may listen in. */
  tap: () => {},
  /** Break the socket, as a network does. */
  cut: () => socket.close(),
};

at("say").addEventListener("submit", event => {
  event.preventDefault();
  say(at("input").value, { voice: at("voice").value, dialect: at("dialect").value });
});
at("stop").addEventListener("click", stop);
at("unlock").addEventListener("click", () => speaker.context.resume().then(look));
at("how").textContent = hasCodecs()
  ? "Opus · WebCodecs" : "PCM：此页不是安全上下文 not a secure context";
connect();
meter();
