/** Where a key moves the cursor of the charts. The cursor is on a step, or on none. */

const LEAP = 10

/** The step after this key; undefined for none, and null if the key does not move the cursor. */
export function moved(key: string, cursor: number | undefined, count: number): number | undefined | null {
  const last = count - 1
  const from = cursor ?? last
  const within = (index: number) => Math.min(last, Math.max(0, index))
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return within(from - 1)
    case 'ArrowRight':
    case 'ArrowUp':
      return within(from + 1)
    case 'PageDown':
      return within(from - LEAP)
    case 'PageUp':
      return within(from + LEAP)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'Escape':
      return undefined
    default:
      return null
  }
}
