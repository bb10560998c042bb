/**
 * What an object is found by within an environment: the URL, and what clients of frameworks say in headers of their own
 * to get something else from the same URL. Not all frameworks name those in Vary, and an attacker can send any of them:
 * whatever changes a response must be a part of the key, or one visitor decides what all others see.
 */
import { type RequestHeaders, requestField } from '../fields/header-list.ts'

export type Addressed = { scheme: 'http' | 'https'; authority: string; target: string; headers: RequestHeaders }

/**
 * No two different requests have one key: every part is either one of two words, or counted, or the last. Authorities
 * differ by more than case only, a port counts even where it is the default one (the app is told it, and may write it
 * into links), and the target counts letter by letter.
 */
export function keyOf({ scheme, authority, target, headers }: Addressed): string {
  const host = authority.toLowerCase()
  return `${scheme}${saidToFramework(headers)}:${host.length}:${host}${target}`
}

/** Whether the request said something to a framework: there may be another key for the same URL. */
export const isFramed = (key: string): boolean => key.startsWith('http+') || key.startsWith('https+')

/** `''` in the common case. JSON ends where it ends, so nothing that follows can be taken for a part of it. */
function saidToFramework(headers: RequestHeaders): string {
  let names: string[] | undefined
  for (const name in headers) {
    if (!mayBeForFramework(name) || !isForFramework(name)) continue
    names ??= []
    names.push(name)
  }
  if (!names) return ''
  return `+${JSON.stringify(names.sort().flatMap((name) => [name, requestField(headers, name)]))}`
}

/** By the first letter, which keeps nearly all headers of browsers out. */
export const FRAMEWORK_LETTERS: ReadonlySet<number> = new Set([...'hnrtx'].map((letter) => letter.charCodeAt(0)))

const mayBeForFramework = (name: string): boolean => FRAMEWORK_LETTERS.has(name.charCodeAt(0))

export const isForFramework = (name: string): boolean => NAMES.has(name) || FAMILIES.test(name)

/** All names that begin like this, so that the next version's new header is in the key before anybody has heard of it. */
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
  // Turbo. Its x-turbo-request-id is not here: it is another one each time.
  'turbo-frame',
  // SolidStart.
  'x-server-id',
  // Rails, Laravel, Express and others give such a request the data alone.
  'x-requested-with',
  // Some frameworks take another method or path from them.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])
