// The server: backups of all collections, and the keys of its clients, for keys that allow it.

import { backupSection } from "./backups.js";
import { keySection } from "./keys.js";
import { fill } from "./dom.js";

/** Tell whether a key may do something in this view. */
export function hasServerView({ backups, permission }) {
  return backups || permission === "keys";
}

/** Make the view; its place has no parameters. */
export function serverView(root, { access, signal }) {
  fill(root, access.backups ? backupSection(signal) : null, access.permission === "keys" ? keySection(signal) : null);
  return () => {};
}
