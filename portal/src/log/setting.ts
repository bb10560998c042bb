/** Whether lines wrap, as this reader last chose. By default they wrap on narrow screens. */
const KEY = 'headland.log.wrap'
const NARROW_PX = 720

export function readWraps(): boolean {
  try {
    const kept = localStorage.getItem(KEY)
    if (kept !== null) return kept === 'on'
  } catch {
    // The browser forbids storage: use the default.
  }
  return window.innerWidth < NARROW_PX
}

export function writeWraps(wraps: boolean) {
  try {
    localStorage.setItem(KEY, wraps ? 'on' : 'off')
  } catch {
    // The browser forbids storage: the choice lasts for this page only.
  }
}
