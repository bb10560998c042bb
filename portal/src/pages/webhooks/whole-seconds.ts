/** Parses a number of seconds from a text field. */
export function wholeSeconds(text: string): number | undefined {
  const trimmed = text.trim()
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : undefined
}
