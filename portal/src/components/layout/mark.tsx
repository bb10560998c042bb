/** The logo of Headland: land that reaches out into the sea. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path d="M5 22.5 13.5 9l5 7.5 3-3.5L27 22.5z" fill="var(--on-accent)" />
    </svg>
  )
}
