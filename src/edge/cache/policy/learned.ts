/**
 * Pages that say which content they are made of, in environments where the operator has them kept: whether a response
 * that the app neither allows nor forbids to store is stored, and under which tags a change of content finds it. Pure.
 *
 * Without knowledge nothing is kept by these rules. And what the app itself allows to store gets tags here as well: a
 * response whose content is not known has the tag that every change of content purges.
 */
import { fieldOf, firstOf, type HeaderList, membersOf, type RequestHeaders } from '../fields/header-list.ts'
import { collectTags, TAG_LIMITS } from '../fields/tags.ts'
import { policyOf } from './cache-control.ts'
import { type Lifetime, lifetimeBy } from './freshness.ts'
import { isForFramework } from './key.ts'
import { type Exchange, type Storable, storedHeaders, type Unstorable, varyOf, type Why } from './storable.ts'

/** What a response says of its content: header of the app, or its trailer where the head came too early to know. */
export const CONTENT_FIELD = 'x-headland-content'

/** Before each of these tags, so that they are not confused with those of the app. */
const PREFIX = 'content:'
/** Anything may be part of it: every change of content purges it. */
const ANY = `${PREFIX}all`
/** It was made of a URL that carries no known id: every change of content purges it. */
const BY_URL = `${PREFIX}u`
/** No content is part of it. The tag only shows that this is known. */
const NONE = `${PREFIX}none`

const MAX_TAGS = 200
const TAG = /^(?:[iu]:[\w:./~-]{1,62}|c:[\w:./~-]{1,61}\*?|all)$/
const UNSURE = /^1;unsure ?([a-z-]{0,30})$/
/** Seconds for which a missing page is kept at most. */
const MISSING_SECONDS = 60

export type Content =
  | { kind: 'known'; tags: readonly string[] }
  /** The list comes in the trailer. */
  | { kind: 'pending' }
  | { kind: 'unknown'; why: `content-${string}` }

/**
 * Reads the field: `1;` and `none`, `pending`, `unsure` with a reason, or tags with blanks between them. An unsure app may
 * have made the response of content that it keeps itself, which may be older than the last change.
 */
export function readContent(field: string | undefined): Content {
  if (field === undefined) return { kind: 'unknown', why: 'content-unknown' }
  if (field === '1;pending') return { kind: 'pending' }
  if (field === '1;none') return { kind: 'known', tags: [NONE] }
  const [, reason] = UNSURE.exec(field) ?? []
  if (reason !== undefined) return { kind: 'unknown', why: `content-${reason || 'unsure'}` }
  if (!field.startsWith('1;')) return INVALID
  const named = field.slice(2).split(' ')
  if (named.length > MAX_TAGS || !named.every((tag) => TAG.test(tag))) return INVALID
  const tags = new Set(named.map((tag) => PREFIX + tag))
  for (const tag of named) {
    if (tag.startsWith('u:')) tags.add(BY_URL)
    // A change that may affect lists of any type finds them by their system.
    else if (tag.startsWith('c:')) tags.add(PREFIX + tag.split(':', 2).join(':'))
  }
  return { kind: 'known', tags: [...tags] }
}

const INVALID: Content = { kind: 'unknown', why: 'content-invalid' }

/** Whether it was stored while its content, or that nothing was known of it, was looked at. */
export const isTagged = (tags: readonly string[]): boolean => tags[0]?.startsWith(PREFIX) ?? false

/** `pending`: its tags come with the end of the body; `otherwise` are those where they do not come, if it is stored at all then. */
export type LearnedStorable = Storable & { pending?: { otherwise: readonly string[] | undefined } }

type Learning = Exchange & {
  /** Path and query. */
  target: string
  maxAgeSeconds: number
  content: string | undefined
}

/** `found` is what is decided without knowledge of the content. */
export function decideLearned(learning: Learning, found: Storable | Unstorable): LearnedStorable | Unstorable {
  const content = contentOf(learning)
  const mayLearn = found.kind === 'store' || found.why === 'no-lifetime'
  if (!mayLearn || !isUncacheableByDefault(learning.headers)) return allowed(learning, found, content)
  const why = objection(learning) ?? (content.kind === 'unknown' ? content.why : undefined)
  if (why) return found.kind === 'store' ? allowed(learning, found, content) : { kind: 'pass', why }
  const vary = [
    ...new Set([...((varyOf(learning.headers) as readonly string[] | undefined) ?? []), ...PERSONAL]),
  ].sort()
  const own = collectTags(learning.headers)
  if (!own.isComplete) return { kind: 'pass', why: 'too-many-tags' }
  const headers = storedHeaders(learning.headers, policyOf(learning.headers).directives, learning.responseMs)
  const kept: Storable = { kind: 'store', lifetime: lifetimeOf(learning), headers, vary, tags: own.tags }
  return content.kind === 'pending' ? { ...kept, pending: { otherwise: undefined } } : withTags(kept, tagsOf(content))
}

/** The tags of a response whose body has ended; undefined where it is not stored after all. */
export function finalTags(
  { pending, tags }: Pick<LearnedStorable, 'pending' | 'tags'>,
  trailer: string | undefined,
): readonly string[] | undefined {
  if (!pending) return tags
  const content = readContent(trailer)
  const final = content.kind === 'known' ? content.tags : pending.otherwise
  return final && final.length + tags.length <= TAG_LIMITS.tags ? [...final, ...tags] : undefined
}

/** A list in a trailer never comes where the length of the body is known. */
function contentOf({ content, headers, status }: Learning): Content {
  const read = readContent(content)
  const hasTrailer = firstOf(headers, 'content-length') === undefined && status !== 204
  return read.kind === 'pending' && !hasTrailer ? { kind: 'unknown', why: 'content-unknown' } : read
}

/** Stored by the rules of the app. What it is made of counts all the same. */
function allowed({ headers }: Learning, found: Storable | Unstorable, content: Content): LearnedStorable | Unstorable {
  if (found.kind !== 'store') return found
  if (content.kind === 'pending') return { ...found, pending: { otherwise: anyTags(headers) } }
  return withTags(found, content.kind === 'known' ? content.tags : anyTags(headers))
}

/** A file that never changes under its address is not made of content that changes. */
const anyTags = (headers: HeaderList): readonly string[] => [policyOf(headers).directives.has('immutable') ? NONE : ANY]

const tagsOf = (content: Content): readonly string[] => (content.kind === 'known' ? content.tags : [ANY])

function withTags(found: Storable, tags: readonly string[]): Storable | Unstorable {
  if (tags.length + found.tags.length > TAG_LIMITS.tags) return { kind: 'pass', why: 'too-many-tags' }
  return { ...found, tags: [...tags, ...found.tags] }
}

/** The app says nothing of caches, or no more than what frameworks and servers say of every page. */
function isUncacheableByDefault(headers: HeaderList): boolean {
  if (EXPLICIT.some((name) => firstOf(headers, name) !== undefined)) return false
  for (const [name, value] of policyOf(headers).directives) {
    if (name === 'max-age' ? value !== '0' : !WITHOUT_LIFETIME.has(name)) return false
  }
  return true
}

const EXPLICIT = ['cdn-cache-control', 'surrogate-control', 'expires']
const WITHOUT_LIFETIME = new Set(['public', 'must-revalidate', 'proxy-revalidate', 'no-transform'])

/** Requests that have one of them are never answered with a response that was kept by these rules. */
const PERSONAL = 'authorization cookie x-access-token x-api-key x-auth-token x-session-id x-session-token'.split(' ')
/** Headers under other names of which apps make the same use: what is answered to them is for one visitor. */
const CREDENTIALS = /auth(?!ority)|token|session|secret|nonce|jwt|credential|api-?key|^x-(?:[a-z]+-)?user(?!-agent)/

/** Whether the request has something by which the app may know the visitor. */
export const isPersonal = (headers: RequestHeaders): boolean => personalIn(headers) !== undefined

function personalIn(headers: RequestHeaders): 'cookie' | 'authorization' | undefined {
  for (const name in headers) {
    if (name === 'cookie') return 'cookie'
    if (CREDENTIALS.test(name)) return 'authorization'
  }
  return undefined
}

function objection({ status, requestHeaders, headers, target }: Learning): Why | undefined {
  if (status !== 200 && status !== 404) return 'status'
  const personal = personalIn(requestHeaders)
  if (personal) return personal
  if (PREVIEW.test(target)) return 'preview'
  if (!KEPT_TYPES.test(firstOf(headers, 'content-type') ?? '')) return 'content-type'
  const isShared = (name: string) => SHARED_BY.has(name) || isForFramework(name)
  return membersOf((fieldOf(headers, 'vary') ?? '').toLowerCase()).every(isShared) ? undefined : 'vary'
}

/** An editor looks at a draft, which no call of the CMS tells of. */
const PREVIEW = /[?&][\w.-]*(?:preview|draft)/i

/** Pages, data and feeds. Neither files, whose content is not looked at, nor streams without an end. */
const KEPT_TYPES = /^[ \t]*(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?(?:json|xml)\b|image\/svg\+xml)/i

const SHARED_BY = new Set(['accept', 'accept-encoding', 'origin'])

function lifetimeOf({ status, headers, requestMs, responseMs, maxAgeSeconds }: Learning): Lifetime {
  const seconds = status === 404 ? Math.min(maxAgeSeconds, MISSING_SECONDS) : maxAgeSeconds
  return {
    ...lifetimeBy(policyOf(headers), { headers, requestMs, responseMs }),
    freshMs: seconds * 1000,
    from: `learnedCaching: maxAgeSeconds=${seconds}`,
  }
}
