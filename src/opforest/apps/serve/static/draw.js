// Draws a forest on a canvas: regions, cut edges, paths, examples, prototypes, recent changes.

const FLASH = 1100; // milliseconds that a change is highlighted
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

// A shape for each class, as points around a circle: [angle, radius].
const ring = (n, turn = 0) => Array.from({ length: n }, (_, i) => [(2 * Math.PI * i) / n - Math.PI / 2 + turn, 1]);
const star = Array.from({ length: 10 }, (_, i) => [(Math.PI * i) / 5 - Math.PI / 2, i % 2 ? 0.45 : 1]);
const SHAPES = [ring(24), ring(3), ring(4, Math.PI / 4), ring(4), ring(5), ring(6), ring(3, Math.PI), ring(8)];
const SCALE = [0.82, 1.12, 1.0, 1.1, 1.0, 1.0, 1.12, 1.0];

function outline(context, shape, x, y, r) {
  context.beginPath();
  for (const [angle, part] of shape) context.lineTo(x + r * part * Math.cos(angle), y + r * part * Math.sin(angle));
  context.closePath();
}

export function glyph(code, isPrototype = false) {
  const shape = isPrototype ? star : SHAPES[code % 8];
  const points = shape.map(([a, p]) => `${(8 + 7 * p * Math.cos(a)).toFixed(1)},${(8 + 7 * p * Math.sin(a)).toFixed(1)}`);
  return `<svg viewBox="0 0 16 16" aria-hidden="true"><polygon points="${points.join(" ")}"/></svg>`;
}

export function colors() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return {
    classes: Array.from({ length: 8 }, (_, k) => get(`--c${k}`)),
    ink: get("--ink"), soft: get("--soft"), line: get("--line"), cut: get("--cut"),
    halo: get("--halo"), glow: get("--glow"), accent: get("--accent"), bad: get("--bad"), tint: Number(get("--tint")),
  };
}

function rgb(color) {
  const n = parseInt(color.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

export function fitToScreen(canvas) {
  const ratio = devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

export class ForestCanvas {
  // `code` maps a class to a color; `click(x, y, key)` and `hover(x, y)` get data coordinates.
  constructor(canvas, { code, click, hover }) {
    Object.assign(this, { canvas, code, data: null, path: null, cursor: null, flash: new Map(), regions: null });
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("click", (event) => click(...this.toData(...at(event)), this.keyAt(...at(event))));
    canvas.addEventListener("pointermove", (event) => {
      this.cursor = at(event);
      hover(...this.toData(...this.cursor));
    });
    canvas.addEventListener("pointerleave", () => { this.cursor = null; hover(null); });
    canvas.addEventListener("keydown", (event) => this.move(event, click, hover));
    new ResizeObserver(() => this.paint()).observe(canvas);
    dark.addEventListener("change", () => { this.regions = null; this.paint(); });
  }

  move(event, click, hover) {
    const step = event.shiftKey ? 40 : 8;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const { width, height } = this.canvas.getBoundingClientRect();
    const [x, y] = this.cursor || [width / 2, height / 2];
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      this.cursor = [Math.min(width - 1, Math.max(1, x + dx)), Math.min(height - 1, Math.max(1, y + dy))];
      hover(...this.toData(...this.cursor));
    } else if (event.key === "Enter") {
      click(...this.toData(x, y), null);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      const key = this.keyAt(x, y, 40);
      if (key !== null) click(...this.toData(x, y), key);
    } else return;
    event.preventDefault();
    this.paint();
  }

  toData(px, py) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const [left, bottom, right, top] = this.data?.bounds || [-1, -1, 1, 1];
    return [left + (px / width) * (right - left), top - (py / height) * (top - bottom)];
  }

  toScreen([x, y], width, height) {
    const [left, bottom, right, top] = this.data.bounds;
    return [((x - left) / (right - left)) * width, ((top - y) / (top - bottom)) * height];
  }

  keyAt(px, py, reach = 9) {
    const { width, height } = this.canvas.getBoundingClientRect();
    let best = reach, found = null;
    (this.data?.points || []).forEach((point, i) => {
      const [x, y] = this.toScreen(point, width, height);
      const distance = Math.hypot(x - px, y - py);
      if (distance < best) { best = distance; found = this.data.keys[i]; }
    });
    return found;
  }

  show(data) {
    const before = this.data;
    this.data = data;
    this.path = null;
    this.regions = null;
    this.flash.clear();
    if (before && before.points.length && data.points.length && !calm.matches) this.highlight(before, data);
    this.began = performance.now();
    this.paint();
  }

  // Highlight examples that became prototypes or non-prototypes, or got another predecessor.
  highlight(before, data) {
    const old = new Map(before.keys.map((key, i) => [key, i]));
    const was = new Set(before.prototypes.map((i) => before.keys[i]));
    const now = new Set(data.prototypes.map((i) => data.keys[i]));
    const parent = (forest, i) => (forest.predecessor[i] < 0 ? null : forest.keys[forest.predecessor[i]]);
    let changed = 0;
    data.keys.forEach((key, i) => {
      const j = old.get(key);
      const isOther = j === undefined || now.has(key) !== was.has(key) || parent(before, j) !== parent(data, i);
      if (isOther) { this.flash.set(i, true); changed += 1; }
    });
    if (changed > data.keys.length * 0.8 && changed > 12) this.flash.clear(); // another stream
  }

  setPath(path) {
    this.path = path;
    this.paint();
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const age = (performance.now() - (this.began || 0)) / FLASH;
      this.draw(this.flash.size && age < 1 ? 1 - age : 0);
      if (this.flash.size && age < 1) this.paint();
    });
  }

  draw(glow) {
    const { context, width, height } = fitToScreen(this.canvas);
    const color = colors();
    context.clearRect(0, 0, width, height);
    if (!this.data || !this.data.points.length) {
      this.drawCursor(context, color);
      return;
    }
    const { points, label, predecessor, prototypes, cut, classes } = this.data;
    const place = points.map((point) => this.toScreen(point, width, height));
    const code = classes.map((name) => this.code(name));
    const paint = label.map((k) => color.classes[code[k] % 8]);
    const size = points.length > 700 ? 2.4 : points.length > 250 ? 3.6 : 4.6;
    this.drawRegions(context, width, height, color, code);
    context.lineCap = "round";
    context.strokeStyle = color.cut;
    context.lineWidth = 1.4;
    context.setLineDash([3, 4]);
    context.beginPath();
    for (const [u, v] of cut) { context.moveTo(...place[u]); context.lineTo(...place[v]); }
    context.stroke();
    context.setLineDash([]);
    predecessor.forEach((p, i) => {
      if (p < 0) return;
      const lit = glow && this.flash.has(i) ? glow : 0;
      if (lit) this.line(context, place[p], place[i], color.glow, 2 + 6 * lit, 0.9 * lit);
      this.line(context, place[p], place[i], paint[i], points.length > 700 ? 0.8 : 1.5, 0.6);
    });
    const isPrototype = new Set(prototypes);
    place.forEach(([x, y], i) => {
      if (isPrototype.has(i)) return;
      if (glow && this.flash.has(i)) this.halo(context, x, y, size * 2 + 10 * glow, color.glow, glow);
      outline(context, SHAPES[code[label[i]] % 8], x, y, size * SCALE[code[label[i]] % 8]);
      this.fill(context, paint[i], color.halo, 1);
    });
    for (const i of prototypes) {
      const [x, y] = place[i];
      if (glow && this.flash.has(i)) this.halo(context, x, y, size * 2 + 14 * glow, color.glow, glow);
      outline(context, star, x, y, size * 2.1);
      this.fill(context, paint[i], color.halo, 1.6);
    }
    this.drawPath(context, color, width, height);
    this.drawCursor(context, color);
  }

  line(context, from, to, style, width, alpha) {
    context.globalAlpha = alpha;
    context.strokeStyle = style;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.globalAlpha = 1;
  }

  halo(context, x, y, r, style, alpha) {
    context.globalAlpha = 0.6 * alpha;
    context.fillStyle = style;
    context.beginPath();
    context.arc(x, y, r, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
  }

  fill(context, inside, edge, width) {
    context.fillStyle = inside;
    context.fill();
    context.strokeStyle = edge;
    context.lineWidth = width;
    context.stroke();
  }

  drawRegions(context, width, height, color, code) {
    if (!this.data.regions) return;
    if (!this.regions) {
      const [columns, rows] = this.data.grid;
      const { regions } = this.data; // in Base64, or computed here
      const bytes = typeof regions === "string" ? Uint8Array.from(atob(regions), (c) => c.charCodeAt(0)) : regions;
      const small = new OffscreenCanvas(columns, rows);
      const brush = small.getContext("2d");
      const image = brush.createImageData(columns, rows);
      bytes.forEach((k, i) => {
        if (k < code.length) image.data.set([...rgb(color.classes[code[k] % 8]), 255 * color.tint], 4 * i);
      });
      brush.putImageData(image, 0, 0);
      this.regions = small;
    }
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    context.drawImage(this.regions, 0, 0, width, height);
  }

  // The path that explains the point under the cursor, from the prototype to the point.
  drawPath(context, color, width, height) {
    if (!this.path || !this.path.at) return;
    const k = this.code(this.path.label);
    const end = this.toScreen(this.path.at, width, height);
    const places = [...this.path.steps.slice(0, -1).map((step) => this.toScreen(step.at, width, height)), end];
    for (let i = 1; i < places.length; i++) {
      this.line(context, places[i - 1], places[i], color.halo, 7, 0.9);
      this.line(context, places[i - 1], places[i], color.classes[k % 8], 3.4, 1);
    }
    places.slice(0, -1).forEach(([x, y], i) => {
      outline(context, i ? SHAPES[0] : star, x, y, i ? 5 : 12);
      this.fill(context, i ? color.halo : color.classes[k % 8], i ? color.classes[k % 8] : color.ink, 2);
    });
    outline(context, SHAPES[k % 8], ...end, 6.5);
    this.fill(context, color.halo, color.classes[k % 8], 2.6);
  }

  drawCursor(context, color) {
    if (!this.cursor || document.activeElement !== this.canvas) return;
    const [x, y] = this.cursor;
    this.line(context, [x - 12, y], [x + 12, y], color.ink, 1, 0.6);
    this.line(context, [x, y - 12], [x, y + 12], color.ink, 1, 0.6);
  }
}
