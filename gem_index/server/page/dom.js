// Elements. Texts become text nodes only: nothing here or elsewhere parses HTML.

const SAFE_LINK = /^(#|openapi\.json$)/;

/** Return an element with attributes and children; children are strings, numbers, elements, lists of them, or nothing. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (name === "style") {
      for (const [property, set] of Object.entries(value)) element.style.setProperty(property, set);
    } else if (name === "value") element.value = value;
    else if (name.startsWith("on")) throw new TypeError(`${name} is no function`);
    else if (name === "href" && !SAFE_LINK.test(value)) throw new TypeError("a link leads elsewhere");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** Return a text of unknown origin: its direction is its own and does not reach its neighbours. */
export function own(text, attributes) {
  return h("bdi", attributes, text);
}

/** Tell screen readers. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** Return a place for problems, and a function that shows one there or, without a text, clears it. */
export function problemPlace(attributes) {
  const place = h("div", { role: "alert", ...attributes, class: "problem" });
  return [place, (text) => {
    fill(place, text ? h("p", null, own(text)) : null);
  }];
}

/** Return a labelled input, select or textarea. */
export function field(label, control, help) {
  control.id ||= `f${(field.count = (field.count ?? 0) + 1)}`;
  if (help) control.setAttribute("aria-describedby", `${control.id}-help`);
  return h("div", { class: "field" },
    h("label", { for: control.id }, label), control,
    help ? h("p", { class: "help", id: `${control.id}-help` }, help) : null);
}

/** Return the largest size among some numbers; more than a call takes as arguments. */
export function largest(numbers) {
  return numbers.reduce((most, each) => Math.max(most, Math.abs(each)), 1e-9);
}
