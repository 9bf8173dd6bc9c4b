// Points on a canvas, to pan and zoom: written pixel by pixel, so that 100,000 take a few milliseconds.

import { h } from "./dom.js";

const NEAR = 12; // CSS pixels from the pointer in which a point is found
const MOST_ZOOM = 400;

/**
 * Return a scatter plot. `points` are x and y of each, from 0 to 1; `colours` a number 0xAABBGGRR for each, 0 for none drawn.
 * `moved` is called with the view when it has changed, `drawn` with the factors that bring a place to a CSS pixel, `pointed` with the
 * point under the pointer or -1, `chosen` with one.
 */
export function scatter({ label, moved, drawn, pointed, chosen }) {
  const canvas = h("canvas", { class: "points", tabindex: 0, role: "application", "aria-label": label });
  const context = canvas.getContext("2d");
  let points = new Float32Array(0);
  let colours = new Uint32Array(0);
  let rings = []; // points with a ring, each with its weight
  let view = { x: 0.5, y: 0.5, zoom: 1 };
  let pixels = null;
  let asked = 0;

  function size() {
    const { width, height } = canvas.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    pixels = context.createImageData(canvas.width, canvas.height);
    draw();
  }

  /** Return the factors that bring a place to a pixel: x * scale + left, y * scale + top. */
  function frame() {
    const scale = 0.92 * Math.min(canvas.width, canvas.height) * view.zoom;
    return { scale, left: canvas.width / 2 - view.x * scale, top: canvas.height / 2 - view.y * scale };
  }

  function draw() {
    if (!asked) asked = requestAnimationFrame(paint);
  }

  function paint() {
    asked = 0;
    if (!pixels) return;
    const begun = performance.now();
    const { width, height } = canvas;
    const target = new Uint32Array(pixels.data.buffer);
    const { scale, left, top } = frame();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const radius = Math.max(1, Math.round(ratio * Math.min(5, (colours.length > 20000 ? 0.8 : 1.6) * view.zoom ** 0.35)));
    const widths = Array.from({ length: 2 * radius + 1 }, (_, row) => Math.floor(Math.sqrt((radius + 0.25) ** 2 - (row - radius) ** 2))); // of a disc
    target.fill(0);
    for (let i = 0; i < colours.length; i += 1) {
      const colour = colours[i];
      if (colour === 0) continue;
      const x = Math.round(points[2 * i] * scale + left);
      const y = Math.round(points[2 * i + 1] * scale + top);
      if (x < radius || y < radius || x >= width - radius || y >= height - radius) continue;
      for (let row = -radius; row <= radius; row += 1) {
        const wide = widths[row + radius];
        const begin = (y + row) * width + x;
        target.fill(colour, begin - wide, begin + wide + 1);
      }
    }
    context.putImageData(pixels, 0, 0);
    context.strokeStyle = getComputedStyle(canvas).color;
    for (const { i, weight } of rings) { // a better one is larger, thicker and darker
      context.globalAlpha = 0.3 + 0.7 * weight;
      context.lineWidth = (1 + 2 * weight) * ratio;
      context.beginPath();
      context.arc(points[2 * i] * scale + left, points[2 * i + 1] * scale + top, radius + (2 + 5 * weight) * ratio, 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
    drawn({ scale: scale / ratio, left: left / ratio, top: top / ratio });
    performance.measure("gem-index: map drawn", { start: begun, end: performance.now() });
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    const ratio = canvas.width / box.width;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio, ratio];
  }

  /** Return the drawn point nearest to a pixel, or -1. */
  function under([px, py, ratio]) {
    const { scale, left, top } = frame();
    let best = -1;
    let least = (NEAR * ratio) ** 2;
    for (let i = 0; i < colours.length; i += 1) {
      if (colours[i] === 0) continue;
      const dx = points[2 * i] * scale + left - px;
      const dy = points[2 * i + 1] * scale + top - py;
      const distance = dx * dx + dy * dy;
      if (distance < least) {
        least = distance;
        best = i;
      }
    }
    return best;
  }

  function zoomAt([px, py], factor) {
    const before = frame();
    const x = (px - before.left) / before.scale;
    const y = (py - before.top) / before.scale;
    const zoom = Math.min(MOST_ZOOM, Math.max(0.5, view.zoom * factor));
    const share = before.scale / view.zoom * zoom;
    show({ zoom, x: x - (px - canvas.width / 2) / share, y: y - (py - canvas.height / 2) / share });
  }

  function show(next, quiet = false) {
    view = { zoom: Math.min(MOST_ZOOM, Math.max(0.5, next.zoom)), x: Math.min(1.2, Math.max(-0.2, next.x)), y: Math.min(1.2, Math.max(-0.2, next.y)) };
    draw();
    if (!quiet) moved(view);
  }

  const pointers = new Map();
  let travelled = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    if (pointers.size === 1) travelled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      pointed(under(here), event);
      return;
    }
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    pointers.set(event.pointerId, here);
    travelled += Math.hypot(here[0] - before[0], here[1] - before[1]);
    if (others.length) { // two fingers
      const [other] = others;
      const factor = Math.hypot(here[0] - other[0], here[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
      zoomAt([(here[0] + other[0]) / 2, (here[1] + other[1]) / 2], factor);
    } else if (travelled > 4) {
      const { scale } = frame();
      show({ ...view, x: view.x - (here[0] - before[0]) / scale, y: view.y - (here[1] - before[1]) / scale });
      pointed(-1, event);
    }
  });
  const lift = (event) => {
    const here = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (here && event.type === "pointerup" && travelled <= 4 && !pointers.size) chosen(under(here));
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", (event) => pointed(-1, event));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomAt(place(event), Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 0.1 / view.zoom;
    const next = {
      ArrowLeft: { x: view.x - step }, ArrowRight: { x: view.x + step }, ArrowUp: { y: view.y - step }, ArrowDown: { y: view.y + step },
      "+": { zoom: view.zoom * 1.5 }, "=": { zoom: view.zoom * 1.5 }, "-": { zoom: view.zoom / 1.5 }, 0: { x: 0.5, y: 0.5, zoom: 1 },
    }[event.key];
    if (event.key === "Enter") {
      const found = under([canvas.width / 2, canvas.height / 2, Math.max(canvas.width, canvas.height)]);
      if (found >= 0) chosen(found);
    }
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show({ ...view, ...next });
  });
  const watching = new ResizeObserver(() => {
    if (canvas.isConnected) size();
    else watching.disconnect();
  });
  watching.observe(canvas);

  return {
    canvas,
    /** Show other points. */
    set: (places, shades) => { points = places; colours = shades; draw(); },
    /** Draw rings around some points, `{i, weight}`: the weight is from 0 to 1. */
    mark: (some) => { rings = some; draw(); },
    /** Go to a view without telling it. */
    show: (next) => show(next, true),
    /** Zoom around the middle. */
    zoom: (factor) => zoomAt([canvas.width / 2, canvas.height / 2], factor),
    /** Bring a point into the middle. */
    centre: (i) => show({ zoom: Math.max(view.zoom, 4), x: points[2 * i], y: points[2 * i + 1] }),
  };
}
