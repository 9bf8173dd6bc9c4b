// What a button starts: once at a time, with its error beside the button.

import { explained } from "./api.js";

/** Return a function that runs what a control starts; `tell` shows an error, and nothing at the start. */
export function attempts(tell) {
  return async (run, control) => {
    if (control.ariaDisabled) return;
    control.ariaDisabled = "true"; // not disabled: it would lose the focus
    tell("");
    try {
      await run();
    } catch (error) {
      tell(explained(error));
    } finally {
      control.ariaDisabled = null;
    }
  };
}
