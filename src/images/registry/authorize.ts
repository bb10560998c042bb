/** Who asks: without credentials, with a password (Basic), or with a token that another server gives for a password (Bearer). */
import type { Clock, Secret } from '../../base/index.ts'
import { RegistryRefused, RegistryUnreachable } from './problem.ts'
import { type Answer, type Ask, type Transport, within } from './transport.ts'

export type Login = { user: string; password: Secret }

type Parts = { clock: Clock; transport: Transport; login: Login | undefined }

/** The shortest time that a token is good for, where its server does not say another. */
const TOKEN_SECONDS = 60
const MARGIN_MS = 10_000
const MAX_TOKENS = 100

type Challenge =
  | { scheme: 'basic' }
  | { scheme: 'bearer'; realm: URL; service: string | undefined; scope: string | undefined }

export function createAuthorizer({ clock, transport, login }: Parts) {
  /** By repository. */
  const tokens = new Map<string, { header: string; until: number }>()

  const basic = (): string | undefined =>
    login && `Basic ${Buffer.from(`${login.user}:${login.password.reveal()}`).toString('base64')}`

  async function headerFor(challenge: Challenge, fallbackScope: string): Promise<{ header: string; until: number }> {
    if (challenge.scheme === 'basic') {
      const header = basic()
      if (header === undefined)
        throw new RegistryRefused(
          'The registry asks for a user and a password: set registryUser and registryPassword.',
          401,
        )
      return { header, until: Number.POSITIVE_INFINITY }
    }
    const { realm, service, scope } = challenge
    const url = new URL(realm)
    if (service !== undefined) url.searchParams.set('service', service)
    url.searchParams.set('scope', scope ?? fallbackScope)
    const header = basic()
    const answer = await transport.ask({ method: 'GET', url, headers: header ? { authorization: header } : {} })
    if (answer.status === 429 || answer.status >= 500)
      throw new RegistryUnreachable(`${url.host} answered ${answer.status} to the request for a token.`)
    if (answer.status !== 200) throw new RegistryRefused(refusedText(url.host, login), answer.status)
    return tokenOf(answer)
  }

  function tokenOf({ body }: Answer): { header: string; until: number } {
    const { token, access_token: access, expires_in: seconds } = jsonOf(body)
    const text = typeof token === 'string' ? token : access
    if (typeof text !== 'string' || !/^[\x21-\x7e]{1,65536}$/.test(text))
      throw new RegistryRefused('The registry gave a token that cannot be used.', 0)
    const valid = typeof seconds === 'number' && seconds > 0 ? seconds : TOKEN_SECONDS
    return { header: `Bearer ${text}`, until: clock.now() + valid * 1000 - MARGIN_MS }
  }

  return {
    /** Asks with what is known of the repository; once more with a new token where the first is refused. */
    async ask(ask: Ask, repository: string): Promise<Answer> {
      const known = tokens.get(repository)
      const header = known && known.until > clock.now() ? known.header : undefined
      const first = await transport.ask(withHeader(ask, header))
      if (first.status !== 401) return first
      const challenge = challengeOf(first)
      if (challenge === undefined || (challenge.scheme === 'basic' && header !== undefined))
        throw new RegistryRefused(refusedText(ask.url.host, login), 401)
      const fresh = await headerFor(challenge, `repository:${repository}:pull,push,delete`)
      if (tokens.size >= MAX_TOKENS) tokens.clear()
      tokens.set(repository, fresh)
      const second = await transport.ask(withHeader(ask, fresh.header))
      if (second.status !== 401) return second
      tokens.delete(repository)
      throw new RegistryRefused(refusedText(ask.url.host, login), 401)
    },
  }
}

export type Authorizer = ReturnType<typeof createAuthorizer>

const withHeader = (ask: Ask, header: string | undefined): Ask =>
  header === undefined ? ask : { ...ask, headers: { ...ask.headers, authorization: header } }

const refusedText = (host: string, login: Login | undefined): string =>
  login
    ? `${host} refuses the user ${JSON.stringify(login.user)}: check registryUser and registryPassword.`
    : `${host} asks for a user: set registryUser and registryPassword.`

/** Of several challenges, the first that is known (RFC 9110, 11.6.1). */
export function challengeOf({ headers, url }: Pick<Answer, 'headers' | 'url'>): Challenge | undefined {
  for (const text of [headers['www-authenticate'] ?? []].flat()) {
    if (/^\s*basic\b/i.test(text)) return { scheme: 'basic' }
    if (!/^\s*bearer\b/i.test(text)) continue
    const values = new Map([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]))
    const realm = values.get('realm')
    if (realm === undefined) continue
    return { scheme: 'bearer', realm: within(realm, url), service: values.get('service'), scope: values.get('scope') }
  }
  return undefined
}

/** The fields of a JSON object; none for anything else. */
export function jsonOf(body: Buffer): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(body.toString('utf8'))
    return typeof found === 'object' && found !== null && !Array.isArray(found)
      ? (found as Record<string, unknown>)
      : {}
  } catch {
    return {}
  }
}
