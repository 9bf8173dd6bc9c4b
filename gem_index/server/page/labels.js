// Names of groups over the points of a map. They are elements, so that each language is written as it is.

import { fill, h, own } from "./dom.js";

const GAP = 4; // CSS pixels between two names

/** Return names that stay at their points; those that would cover the name of a larger group are hidden. */
export function labels() {
  const element = h("div", { class: "names", "aria-hidden": "true" }); // the list beside the map has them too
  let shown = []; // {x, y, name, width, height}

  return {
    element,
    /** Show `{x, y, name}`, those of large groups first. */
    set: (groups) => {
      const names = groups.map(({ name }) => own(name));
      fill(element, names);
      shown = groups.map((group, i) => ({ ...group, name: names[i], width: names[i].offsetWidth, height: names[i].offsetHeight }));
    },
    /** Bring each name to its point: `scale`, `left` and `top` are in CSS pixels. */
    place: ({ scale, left, top }) => {
      const taken = [];
      for (const { x, y, name, width, height } of shown) {
        const box = [x * scale + left - width / 2, y * scale + top - height / 2, width, height];
        const free = !taken.some((other) => covers(box, other));
        if (free) taken.push(box);
        name.style.setProperty("translate", `${box[0]}px ${box[1]}px`);
        name.style.setProperty("visibility", free ? "visible" : "hidden");
      }
    },
  };
}

/** Return where each group's name stands: at the point that is nearest to the middle of the group. */
export function namePlaces(points, codes, groups) {
  return groups.map(({ code, name }) => {
    const mine = [];
    codes.forEach((each, i) => { if (each === code) mine.push(i); });
    const [x, y] = [0, 1].map((axis) => median(mine.map((i) => points[2 * i + axis])));
    const far = (i) => Math.abs(points[2 * i] - x) + Math.abs(points[2 * i + 1] - y);
    const nearest = mine.reduce((best, i) => (far(i) < far(best) ? i : best));
    return { code, name, x: points[2 * nearest], y: points[2 * nearest + 1] };
  });
}

function median(values) {
  return Float32Array.from(values).sort()[values.length >> 1];
}

function covers([x, y, width, height], [left, top, wide, high]) {
  return x < left + wide + GAP && left < x + width + GAP && y < top + high && top < y + height;
}
