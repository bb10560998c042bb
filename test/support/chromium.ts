/** Chromium without windows: the same engine, at less than half the cost of the browser with its windows hidden. */
export const CHROMIUM = '/usr/bin/chromium-headless-shell'
