/** Addresses in a log: whose they are, and which one a failure is about. */

export type HostKind = 'registry' | 'download' | 'telemetry' | 'other'

const KINDS: Record<Exclude<HostKind, 'other' | 'registry'>, readonly string[]> = {
  download: [
    'fonts.googleapis.com',
    'fonts.gstatic.com',
    'github.com',
    'objects.githubusercontent.com',
    'raw.githubusercontent.com',
    'release-assets.githubusercontent.com',
    'codeload.github.com',
    'nodejs.org',
    'unpkg.com',
    'cdn.jsdelivr.net',
    'binaries.prisma.sh',
    'storage.googleapis.com',
    'cdn.playwright.dev',
    'download.cypress.io',
    'downloads.sentry-cdn.com',
  ],
  telemetry: [
    'telemetry.nextjs.org',
    'telemetry.astro.build',
    'telemetry.nuxt.com',
    'analytics.gatsbyjs.com',
    'telemetry.vercel.com',
    'registry.turbo.build',
    'ingest.sentry.io',
  ],
}

/** Pages that error messages send their reader to. */
const READING = new Set([
  'nextjs.org',
  'github.com',
  'nodejs.org',
  'yarnpkg.com',
  'webpack.js.org',
  'vite.dev',
  'vitejs.dev',
  'rollupjs.org',
  'docs.astro.build',
  'astro.build',
  'nuxt.com',
  'react.dev',
  'reactjs.org',
  'svelte.dev',
  'docs.npmjs.com',
  'pnpm.io',
  'bun.sh',
  'sharp.pixelplumbing.com',
  'tailwindcss.com',
])

export function kindOf(host: string): HostKind {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  for (const [kind, hosts] of Object.entries(KINDS)) {
    if (hosts.some((known) => name === known || name.endsWith(`.${known}`))) return kind as HostKind
  }
  return REGISTRY.test(name) ? 'registry' : 'other'
}

/** A company has one of its own, and calls it what all the others are called. */
const REGISTRY = /^(?:registry|npm|packages|repo)\./

/** The host of an address, with its port where one is named; empty for what is no address. */
export const hostOf = (address: string): string =>
  /^https?:\/\/(?:[^/@\s]{1,200}@)?([\w.-]{1,253}(?::\d{1,5})?|\[[\da-fA-F:.]{2,45}\](?::\d{1,5})?)/.exec(
    address,
  )?.[1] ?? ''

const ADDRESS = /https?:\/\/[^\s'"`<>()\\]{1,300}/g

/** The hosts of the addresses in a line, but for those that are there to be read. */
export const hostsIn = (text: string): string[] =>
  [...text.matchAll(ADDRESS)].map(([address]) => hostOf(address)).filter((host) => host !== '' && !READING.has(host))

/** This very machine, which inside a sandbox is nobody else's. */
export const isLocal = (host: string): boolean => /^(?:localhost|127\.|0\.0\.0\.0|\[?::1)/.test(host)
