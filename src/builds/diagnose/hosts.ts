/** Hosts in a log and in variables: their kinds, and which one a failure is about. */
import { isIP } from 'node:net'

/** `cms` is a host that the variables of the environment name: most often the CMS. */
export type HostKind = 'cms' | 'registry' | 'download' | 'telemetry' | 'other'

const KINDS: Record<'download' | 'telemetry', readonly string[]> = {
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

/** Hosts of documentation that error messages link to. */
const DOCUMENTATION = new Set([
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

/** The usual names of private registries. */
const REGISTRY = /^(?:registry|npm|packages|repo)\./

/** The host of a URL, with its port where it has one; empty for other text. */
export const hostOf = (address: string): string =>
  /^https?:\/\/(?:[^/@\s]{1,200}@)?([\w.-]{1,253}(?::\d{1,5})?|\[[\da-fA-F:.]{2,45}\](?::\d{1,5})?)/.exec(
    address,
  )?.[1] ?? ''

const ADDRESS = /https?:\/\/[^\s'"`<>()\\]{1,300}/g

/** The hosts of the URLs in a line, without those of documentation. */
export const hostsIn = (text: string): string[] =>
  [...text.matchAll(ADDRESS)]
    .map(([address]) => hostOf(address))
    .filter((host) => host !== '' && !DOCUMENTATION.has(host))

/** Variables that are not for the app: of package managers, mirrors and proxies. */
const NOT_FOR_APPS = /^(npm_|NPM_|YARN_|PNPM_|BUN_)|_MIRROR$|_proxy$/i
const ADDRESS_OF_ANY_KIND = /[a-z][a-z\d+.-]{1,20}:\/\/[^\s"'<>,;]{1,300}/gi
const BARE = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[a-z]{2,63})(?=$|[:/])/i
const MAX_HOSTS = 1000

type Variables = Readonly<Record<string, string>>

/** The hosts that an app is meant to use. Of the variables of the service, only the URL of the CMS counts. */
export const hostsAsked = (own: Variables, metadata: Variables): string[] => [
  ...new Set(endpointsAsked(own, metadata).map(({ host }) => host)),
]

/** An endpoint that an app is meant to use, with the port where it is named or follows from the scheme. */
export type AskedEndpoint = { protocol: 'http' | 'https' | 'tcp'; host: string; port: number | null }

/** The endpoints that variables name, as a URL or as a host. */
export function endpointsAsked(own: Variables, { HEADLESS_CMS_URL = '' }: Variables): AskedEndpoint[] {
  const found = new Map<string, AskedEndpoint>()
  for (const [name, value] of Object.entries({ ...own, HEADLESS_CMS_URL })) {
    if (NOT_FOR_APPS.test(name)) continue
    const urls = [...value.matchAll(ADDRESS_OF_ANY_KIND)].map(([address]) => URL.parse(address))
    for (const endpoint of [...urls.map(endpointOf), endpointNamed(value.trim())]) {
      if (found.size >= MAX_HOSTS) return [...found.values()]
      if (endpoint) found.set(`${endpoint.protocol} ${endpoint.host} ${endpoint.port}`, endpoint)
    }
  }
  return [...found.values()]
}

const USUAL_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

function endpointOf(url: URL | null): AskedEndpoint | undefined {
  if (!url?.hostname) return undefined
  const isHttp = Object.hasOwn(USUAL_PORTS, url.protocol)
  const protocol = isHttp ? (url.protocol.slice(0, -1) as 'http' | 'https') : 'tcp'
  const port = url.port === '' ? (USUAL_PORTS[url.protocol] ?? null) : Number(url.port)
  return { protocol, host: nameOf(url.hostname), port }
}

/** A host without a scheme: its protocol is unknown. */
function endpointNamed(value: string): AskedEndpoint | undefined {
  const host = BARE.exec(value)?.[0]
  if (!host) return undefined
  const port = /^:(\d{1,5})(?=$|\/)/.exec(value.slice(host.length))?.[1]
  return { protocol: 'tcp', host: nameOf(host), port: port === undefined ? null : Number(port) }
}

/** Whether a host is among the others; all names of the local machine are the same. */
export function isAmong(host: string, hosts: readonly string[]): boolean {
  const name = nameOf(host)
  return hosts.some((other) => other === name || (isLocal(other) && isLocal(name)))
}

/** The host name of an address, where it is known: errors of Node have only the address. */
export function nameBehind(host: string, names: Variables): string {
  const address = nameOf(host)
  if (!isIP(address)) return host
  // Node appends a port to an IPv6 address without brackets.
  return names[address] ?? names[address.replace(/:\d{1,5}$/, '')] ?? host
}

/** Whether it is an IP address, and not a name. */
export const isAddress = (host: string): boolean => isIP(nameOf(host)) !== 0

/** Without port, brackets and final dot, in lower case. */
function nameOf(host: string): string {
  const [, inBrackets] = /^\[([^\]]*)\]/.exec(host) ?? []
  const name = inBrackets ?? (host.split(':').length > 2 ? host : host.replace(/:\d{1,5}$/, ''))
  return name.replace(/\.$/, '').toLowerCase()
}

/** The local machine. In a sandbox that is the sandbox itself. */
export const isLocal = (host: string): boolean => /^(?:localhost|127\.|0\.0\.0\.0|\[?::1)/.test(host)
