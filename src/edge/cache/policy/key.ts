/**
 * The cache key of a request within an environment: the URL, and the headers with which the clients of frameworks ask
 * for something else at the same URL. Not all frameworks name those in Vary, and an attacker can send any of them:
 * everything that changes a response must be part of the key, or one visitor decides what all others see.
 */
import { type RequestHeaders, requestField } from '../fields/header-list.ts'

export type Addressed = { scheme: 'http' | 'https'; authority: string; target: string; headers: RequestHeaders }

/**
 * No two different requests have the same key: every part is one of two words, or has its length in front, or is the
 * last. Authorities are compared without case; the port counts even where it is the default one, because the app
 * receives it and may write it into links; the target is compared character by character.
 */
export function keyOf({ scheme, authority, target, headers }: Addressed): string {
  const host = authority.toLowerCase()
  return `${scheme}${frameworkHeadersOf(headers)}:${host.length}:${host}${target}`
}

/** Whether the key contains framework headers: there may be another key for the same URL. */
export const isFramed = (key: string): boolean => key.startsWith('http+') || key.startsWith('https+')

/** `''` in the common case. JSON is self-delimiting, so nothing that follows can be taken for a part of it. */
function frameworkHeadersOf(headers: RequestHeaders): string {
  let names: string[] | undefined
  for (const name in headers) {
    if (!mayBeForFramework(name) || !isForFramework(name)) continue
    names ??= []
    names.push(name)
  }
  if (!names) return ''
  return `+${JSON.stringify(names.sort().flatMap((name) => [name, requestField(headers, name)]))}`
}

/** First letters of framework headers: this check excludes nearly all headers of browsers. */
export const FRAMEWORK_LETTERS: ReadonlySet<number> = new Set([...'hnrtx'].map((letter) => letter.charCodeAt(0)))

const mayBeForFramework = (name: string): boolean => FRAMEWORK_LETTERS.has(name.charCodeAt(0))

export const isForFramework = (name: string): boolean => NAMES.has(name) || FAMILIES.test(name)

/** Prefixes, so that a header that a later version of the framework adds is part of the key as well. */
const FAMILIES = new RegExp(
  `^(?:${[
    // Next.js: next-router-state-tree, next-router-prefetch, next-router-segment-prefetch, next-url, next-hmr-refresh,
    // next-action; x-nextjs-data; x-middleware-prefetch; x-invoke-status and its like; x-prerender-revalidate.
    'next-',
    'x-nextjs-',
    'x-middleware-',
    'x-invoke-',
    'x-prerender-',
    // Nuxt: x-nuxt-no-ssr, x-nuxt-error.
    'x-nuxt-',
    // React Router and Remix: x-react-router-spa-mode and x-react-router-prerender-data (CVE-2025-43864 and 43865).
    'x-react-router-',
    'x-remix-',
    // SvelteKit: x-sveltekit-pathname, x-sveltekit-search. Astro: x-astro-path, x-astro-locals.
    'x-sveltekit-',
    'x-astro-',
    // Inertia: x-inertia, x-inertia-partial-data, x-inertia-version. Unpoly: x-up-target. Pjax: x-pjax.
    'x-inertia',
    'x-up-',
    'x-pjax',
    // htmx: hx-request, hx-target, hx-boosted, hx-current-url.
    'hx-',
  ].join('|')})`,
)

const NAMES = new Set([
  // React Server Components, in Next.js and others.
  'rsc',
  // Turbo. Its x-turbo-request-id is not here, because it is different in each request.
  'turbo-frame',
  // SolidStart.
  'x-server-id',
  // Rails, Laravel, Express and others answer such a request with data instead of a page.
  'x-requested-with',
  // Some frameworks take another method or path from them.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])
