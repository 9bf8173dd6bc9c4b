// Where the page is: #/COLLECTION/VIEW?parameters. All that a view shows follows from it.

/** Return the place that an address names. */
export function parse(hash) {
  const found = /^#\/([^/?]*)(?:\/([^/?]*))?(?:\?(.*))?$/s.exec(hash);
  if (!found) return { collection: null, view: "search", params: {} };
  return {
    collection: decoded(found[1]) || null,
    view: decoded(found[2] ?? "") || "search",
    params: Object.fromEntries(new URLSearchParams(found[3] ?? "")),
  };
}

/** Return the address of a place, without parameters that are empty. */
export function format({ collection, view, params }) {
  const kept = Object.entries(params ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const asked = new URLSearchParams(kept).toString();
  return `#/${encodeURIComponent(collection ?? "")}/${encodeURIComponent(view)}${asked ? `?${asked}` : ""}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a % that begins nothing
  }
}

/** The present place. */
export let place = parse(location.hash);

const listeners = [];

/** Call a function with each new place. */
export function onPlace(listener) {
  listeners.push(listener);
}

/** Go somewhere. While somebody types, `replace` keeps the history short. */
export function go(changes, { replace = false } = {}) {
  const hash = format({ ...place, ...changes });
  try {
    if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
  } catch { /* too long for this browser, or too often: the page goes there, its address stays behind */ }
  changed(hash);
}

/** Change parameters of the present view. */
export function setParams(changes, options) {
  go({ params: { ...place.params, ...changes } }, options);
}

function changed(hash) {
  place = parse(hash);
  for (const listener of listeners) listener(place);
}

addEventListener("popstate", () => changed(location.hash));
