export { findBrowser } from './browser.ts'
export type { EdgePorts } from './relay.ts'
export { createScreenshots, type Screenshot, type Screenshots } from './screenshots.ts'
export { createShoot } from './shoot.ts'
