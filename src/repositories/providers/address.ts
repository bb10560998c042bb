/** What the URL of a repository tells: the hosting service, its API, and the name of the repository there. */
import type { ProviderName } from './provider.ts'

export type Address = { protocol: 'http:' | 'https:'; host: string; segments: string[] }

const MAX_LENGTH = 2000
// `git@github.com:owner/repository.git`, as git reads it: no slash before the colon.
const SCP = /^(?:[^@/\s]+@)?([^:/@\s[\]]+):(?!\/\/)([^\s]+)$/
/** Hosts that take SSH on the port of HTTPS, and those that they belong to. */
const SSH_HOSTS: ReadonlyMap<string, string> = new Map([
  ['ssh.github.com', 'github.com'],
  ['altssh.gitlab.com', 'gitlab.com'],
  ['altssh.bitbucket.org', 'bitbucket.org'],
])

/** Where the web pages of the host of a repository are, and the path of the repository. Undefined if it is no such URL. */
export function addressOf(url: string): Address | undefined {
  if (url.length > MAX_LENGTH) return undefined
  if (!URL.canParse(url) || !/^(?:https?|ssh|git\+ssh):\/\//i.test(url)) {
    const [, host, path] = SCP.exec(url) ?? []
    return host && path && !url.includes('://') ? addressOf(`ssh://${host}/${path.replace(/^\/+/, '')}`) : undefined
  }
  const { protocol, host, hostname, pathname } = new URL(url)
  const segments = segmentsOf(pathname)
  if (!segments || hostname === '') return undefined
  if (protocol === 'http:' || protocol === 'https:') return { protocol, host, segments }
  // The port is that of SSH. A name that SSH takes may be none for HTTPS.
  const web = `https://${SSH_HOSTS.get(hostname.toLowerCase()) ?? hostname.toLowerCase()}`
  return URL.canParse(web) ? { protocol: 'https:', host: new URL(web).host, segments } : undefined
}

function segmentsOf(path: string): string[] | undefined {
  try {
    const segments = path
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
      .split('/')
      .slice(1)
      .map(decodeURIComponent)
    return segments.length > 0 && segments.every(isName) ? segments : undefined
  } catch {
    return undefined
  }
}

const isName = (segment: string) => /^[^\p{Cc}\p{Cs}\p{Z}/\\]+$/u.test(segment) && segment !== '.' && segment !== '..'

const NAMES: readonly [RegExp, ProviderName][] = [
  [/^(?:(?:.+\.)?github\.com|.+\.ghe\.com)$/, 'GITHUB'],
  [/^codeberg\.org$/, 'GITEA'],
  // Hosts of companies are mostly named for what they run.
  [/(?:^|[.-])(?:github|ghe)(?:[.-]|$)/, 'GITHUB'],
  [/(?:^|[.-])gitlab(?:[.-]|$)/, 'GITLAB'],
  [/(?:^|[.-])(?:gitea|forgejo)(?:[.-]|$)/, 'GITEA'],
  [/(?:^|[.-])bitbucket(?:[.-]|$)/, 'BITBUCKET'],
]

/** A guess by the host name. Undefined if it tells nothing. */
export function providerOf(url: string): ProviderName | undefined {
  const address = addressOf(url)
  if (!address) return undefined
  const name = address.host.replace(/:\d+$/, '').toLowerCase()
  const found = NAMES.find(([pattern]) => pattern.test(name))
  // Bitbucket Data Center has its repositories below this path.
  return found?.[1] ?? (address.segments.at(-3) === 'scm' ? 'BITBUCKET' : undefined)
}

/** Where the API of the service is that has the repository, without a slash at the end. Undefined if it is no such URL. */
export function apiBaseOf(url: string, provider: ProviderName): string | undefined {
  const address = addressOf(url)
  if (!address) return undefined
  const { protocol, host, segments } = address
  const origin = `${protocol}//${host}`
  switch (provider) {
    case 'GITHUB':
      if (host === 'github.com' || host === 'www.github.com') return 'https://api.github.com'
      return host.endsWith('.ghe.com') ? `https://api.${host}` : `${origin}/api/v3`
    case 'GITLAB':
      return `${origin}${pathOf(segments.slice(0, -gitLabProject(address).length))}/api/v4`
    case 'GITEA':
      // It may run below a path of its host.
      return `${origin}${pathOf(segments.slice(0, -2))}/api/v1`
    case 'BITBUCKET':
      if (isBitbucketCloud(address)) return 'https://api.bitbucket.org/2.0'
      return `${origin}${pathOf(segments.slice(0, segments.at(-3) === 'scm' ? -3 : -2))}/rest/api/latest`
  }
}

/**
 * The groups and the name of a project. A GitLab below a path of its host is told by that path, which its documentation calls
 * `/gitlab`: any other one could be a group.
 */
export function gitLabProject({ host, segments }: Address): string[] {
  const isBelowPath = segments.length > 2 && segments[0] === 'gitlab' && !/(?:^|[.-])gitlab(?:[.-]|$)/i.test(host)
  return isBelowPath ? segments.slice(1) : segments
}

export const isBitbucketCloud = ({ host }: Address): boolean => host === 'bitbucket.org'

export const pathOf = (segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
