/** Parses a number from a text field. */
export function wholeNumber(text: string): number | undefined {
  const trimmed = text.trim()
  return /^\d{1,7}$/.test(trimmed) ? Number(trimmed) : undefined
}
