// Why two texts match: both side by side, what their word pairs add, and the weights of their words.

import { api, collectionPath, explained } from "./api.js";
import { announce, fill, h, largest, own } from "./dom.js";
import { markClass, segments, weight } from "./texts.js";
import { figure, t } from "./words.js";

const LISTED = 12; // pairs
const MEASURES = ["share", "novelty", "significance", "uniqueness", "weight"];

/** Return the view of a match: `why` is what the server says of it, `titles` name the two texts. */
export function matchView(why, collection, titles) {
  const sides = [why.first_words, why.second_words];
  const most = largest(sides.flat().map((word) => word.share));
  const pairs = new Map(why.pairs.map((pair) => [`${pair.first} ${pair.second}`, pair.share]));
  const strongest = largest(why.pairs.slice(0, 1).map((pair) => pair.share));
  const elements = [[], []];
  const paint = () => sides.forEach((words, side) => words.forEach((word, i) => {
    const element = elements[side][i];
    if (!element) return;
    element.className = `word ${markClass(word)}`;
    element.style.setProperty("--w", weight(word.share, most));
  }));
  const light = (side, i) => {
    for (const each of elements.flat()) {
      each?.style.setProperty("--w", "0");
      each?.classList.remove("same");
    }
    elements[side][i].classList.add("chosen");
    const partners = [];
    elements[1 - side].forEach((element, j) => {
      const share = pairs.get(side === 0 ? `${i} ${j}` : `${j} ${i}`) ?? 0;
      element.className = `word ${share < 0 ? "against" : "for"}`;
      element.style.setProperty("--w", weight(share, strongest));
      partners.push([share, sides[1 - side][j].token]);
    });
    partners.sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
    const named = partners.slice(0, 3).map(([share, token]) => `${token} ${figure(share)}`);
    announce(`${sides[side][i].token}: ${named.join(", ")}`);
  };
  const text = (side) => {
    const whole = side === 0 ? why.first : why.second;
    return h("p", {
      class: "text words", dir: "auto", role: "group",
      "aria-label": t("match.words", { title: titles[side] }),
    }, segments(whole, sides[side]).map((part) => {
      if (part.word < 0) return part.text;
      const place = part.word;
      const element = h("span", {
        role: "button", tabindex: elements[side].length ? -1 : 0,
        pointerenter: () => light(side, place), pointerleave: paint,
        focus: () => light(side, place), blur: paint,
        keydown: (event) => step(event, elements[side], place),
      }, part.text);
      elements[side][place] = element;
      return element;
    }));
  };
  const columns = titles.map((title, side) => h("div", { class: "side" }, h("h2", null, title), text(side)));
  paint();
  return h("div", { class: "match" },
    h("div", { class: "sides" }, columns),
    h("div", { class: "sides" },
      pairList(why, strongest),
      h("div", { class: "side" }, weights([why.first, why.second], collection, titles))));
}

function step(event, elements, place) {
  const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!way) return;
  event.preventDefault();
  event.stopPropagation();
  let next = place + way;
  while (next >= 0 && next < elements.length && !elements[next]) next += way;
  if (!elements[next]) return;
  elements[place].tabIndex = -1;
  elements[next].tabIndex = 0;
  elements[next].focus();
}

function pairList(why, strongest) {
  const listed = why.pairs.filter((pair) => Math.abs(pair.share) >= 5e-4).slice(0, LISTED);
  return h("div", { class: "side" },
    h("h2", null, t("match.pairs", { cosine: figure(why.cosine) })),
    listed.length ? h("ol", { class: "pairs" }, listed.map((pair) => h("li", null,
      h("span", { class: "pair" }, own(why.first_words[pair.first].token), h("span", { class: "with" }, " \u2013 "),
        own(why.second_words[pair.second].token)),
      h("span", { class: `bar ${pair.share < 0 ? "against" : "for"}`, style: { "--w": weight(pair.share, strongest) } }),
      h("span", { class: "figure" }, figure(pair.share))))) : h("p", { class: "help" }, t("match.no_pairs")));
}

/** Return the place where the weights of the words of texts appear. */
function weights(texts, collection, titles) {
  const places = texts.map((text, i) => {
    const place = h("div", null);
    api("POST", collectionPath(collection, "explain"), { body: { text } }).then((found) => {
      const parts = found.encoders ? found.encoders.map((each) => each.explanation) : [found];
      fill(place, parts.map((part) => weightTable(part, titles[i])));
    }).catch((error) => fill(place, h("p", { class: "help" }, own(explained(error)))));
    return place;
  });
  return h("details", { class: "weights", open: true },
    h("summary", null, t("match.weights")), places,
    h("dl", { class: "meanings" }, MEASURES.map((name) => [h("dt", null, t(`measures.${name}`)), h("dd", null, t(`meanings.${name}`))])));
}

function weightTable(explanation, title) {
  const most = largest(explanation.words.map((word) => word.share));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("match.weights_of", { title }) }, h("table", null,
    h("caption", null, title),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, t("match.word")),
      MEASURES.map((name) => h("th", { scope: "col", title: t(`meanings.${name}`) }, t(`measures.${name}`))))),
    h("tbody", null, explanation.words.map((word) => h("tr", null,
      h("th", { scope: "row" }, own(word.token), word.known ? null : h("span", { class: "help" }, " ", t("match.unknown"))),
      h("td", { class: "sum", style: { "--w": weight(word.share, most) } }, figure(word.share)),
      [word.alpha_n, word.alpha_s, word.alpha_u, word.alpha].map((value) => h("td", null, figure(value))))))));
}

/** Ask why two texts match and show it. */
export async function showMatch(place, collection, first, second, titles, signal) {
  const why = await api("POST", collectionPath(collection, "explain"), { body: { text: first, with: second }, signal });
  fill(place, matchView(why, collection, titles));
  return why;
}
