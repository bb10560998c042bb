/** The icons of the portal, drawn on a grid of 16. Each has a word beside it or a label for screen readers. */
const PATHS = {
  check: 'M3.5 8.5l3 3 6-7',
  cross: 'M4.5 4.5l7 7m0-7l-7 7',
  plus: 'M8 3.5v9M3.5 8h9',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3L13.5 13.5',
  copy: 'M6 5.5V3.8c0-.7.6-1.3 1.3-1.3h4.9c.7 0 1.3.6 1.3 1.3v4.9c0 .7-.6 1.3-1.3 1.3h-1.7M3.8 6h4.9c.7 0 1.3.6 1.3 1.3v4.9c0 .7-.6 1.3-1.3 1.3H3.8c-.7 0-1.3-.6-1.3-1.3V7.3C2.5 6.6 3.1 6 3.8 6z',
  external: 'M9 3h4v4M13 3L7.5 8.5M11.5 9.5v3c0 .3-.2.5-.5.5H3.5c-.3 0-.5-.2-.5-.5V5c0-.3.2-.5.5-.5h3',
  upload: 'M8 10.5v-7M4.8 6.5L8 3.3l3.2 3.2M2.8 10.5v2c0 .6.4 1 1 1h8.4c.6 0 1-.4 1-1v-2',
  clock: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3.2l2 1.3',
  warning: 'M8 6v3.2M8 11.4v.1M7.1 3L1.9 12c-.4.7.1 1.5.9 1.5h10.4c.8 0 1.3-.8.9-1.5L8.9 3c-.4-.7-1.4-.7-1.8 0z',
  moon: 'M13 9.3A5.5 5.5 0 0 1 6.7 3a5.3 5.3 0 1 0 6.3 6.3z',
  dot: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  circle: 'M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z',
  down: 'M4.5 6.5L8 10l3.5-3.5',
  right: 'M6.5 4.5L10 8l-3.5 3.5',
  spinner: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
  ban: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM4.2 4.2l7.6 7.6',
  folder: 'M2.5 4.5c0-.6.4-1 1-1h2.7l1.5 1.5h4.8c.6 0 1 .4 1 1v5.5c0 .6-.4 1-1 1h-9c-.6 0-1-.4-1-1z',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  trash: 'M3 4.5h10M6.5 4.5v-1c0-.3.2-.5.5-.5h2c.3 0 .5.2.5.5v1M4.5 4.5l.5 8c0 .3.2.5.5.5h5c.3 0 .5-.2.5-.5l.5-8',
  download: 'M8 3v7M4.8 7L8 10.2 11.2 7M2.8 10.5v2c0 .6.4 1 1 1h8.4c.6 0 1-.4 1-1v-2',
  up: 'M4.5 9.5L8 6l3.5 3.5',
  pause: 'M6 4v8M10 4v8',
} as const

export type IconName = keyof typeof PATHS

type Props = { name: IconName; size?: number; className?: string | undefined }

export function Icon({ name, size = 16, className }: Props) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
