/** Whether lines wrap, as this reader left it. At first they do where there is little room. */
const KEY = 'headland.log.wrap'
const NARROW_PX = 720

export function readWraps(): boolean {
  try {
    const kept = localStorage.getItem(KEY)
    if (kept !== null) return kept === 'on'
  } catch {
    // A browser that keeps nothing: as if nothing had been chosen.
  }
  return window.innerWidth < NARROW_PX
}

export function writeWraps(wraps: boolean) {
  try {
    localStorage.setItem(KEY, wraps ? 'on' : 'off')
  } catch {
    // It holds for this page, then.
  }
}
