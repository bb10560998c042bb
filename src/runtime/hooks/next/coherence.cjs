'use strict'
// Loaded into apps made with Next.js, ahead of anything of theirs (NODE_OPTIONS=--require), so that what Next.js makes
// anew leaves the edge's cache at once. The app's files stay as they are, and so does what Next.js itself does:
//
//  - answers carry their tags, so that the edge knows which of them a revalidation means;
//  - a revalidation by tag or path is passed on to the edge, after Next.js did its part, so that the edge cannot fetch the
//    old page again; and the request that asked for it is answered when both are done;
//  - a page that was made anew because its time had come is passed on too;
//  - answers carry their age, so that a page lives as long as the app says, and not as long again in the edge.
//
// It holds on to what the versions 14 to 16 have in common, whatever bundler made the app: the cache that Next.js gives
// to each request, which it puts into globalThis.__incrementalCache, and whose handler (its own or the app's) gets, sets
// and revalidates everything. What is not as expected is left alone: without us the app works as anywhere else.
const { createPurges } = require('./purges.cjs')
const { encodeTag, hold, labelOf, note, TOO_MANY, visits, watchServers } = require('./visits.cjs')

/** Where Next.js keeps what its bundles share. */
const CACHE_HANDLERS = Symbol.for('@next/cache-handlers')
const USE_CACHE_HANDLERS = Symbol.for('@next/cache-handlers-set')
const TAGS_HEADER = 'x-next-cache-tags'
/** What it puts before a path to make it a tag. */
const PATH_TAG = '_N_T_'

const {
  HEADLAND_NEXT_COHERENCE: wanted,
  HEADLESS_APPS_API_URL_ADDRESS: url,
  HEADLESS_APPS_API_TOKEN: token,
  HEADLESS_METADATA_ENV_ID: environment,
} = process.env

if (wanted !== 'off' && url && token && environment) {
  try {
    start(createPurges({ url, token, environment, say }))
  } catch (error) {
    say(`revalidations do not reach the edge: ${error}`)
  }
}

function say(line) {
  process.stderr.write(`headland: ${line}\n`)
}

let isUnderstood = true

/** Whatever goes wrong in here is ours, and nothing that a page should fail for. It is said once. */
function carefully(act) {
  try {
    return act()
  } catch (error) {
    if (isUnderstood) say(`revalidations may not reach the edge: ${error}`)
    isUnderstood = false
  }
}

function start(purges) {
  watchServers()
  let current
  Object.defineProperty(globalThis, '__incrementalCache', {
    configurable: true,
    enumerable: true,
    get: () => current,
    set(cache) {
      current = cache
      if (!isUnderstood) return
      carefully(() => {
        meetCache(cache)
        meetUseCacheHandlers()
      })
    },
  })

  const met = new WeakSet()
  const isNew = (thing) => !met.has(thing) && met.add(thing) !== undefined

  function meetCache(cache) {
    const handler = cache?.cacheHandler
    if (!handler) return
    // res.revalidate() of the Pages Router asks for the page inside of the process, and waits until it is stored.
    const visit = visits.getStore()
    if (visit && cache.isOnDemandRevalidate) visit.isOnDemand = true
    const made = handler.constructor
    // Every request has a handler of its own. One whose functions are not its class's is met through what calls it.
    const common = Object.hasOwn(handler, 'revalidateTag') ? cache.constructor : made
    if (isNew(common)) wrapHandler(common.prototype)
    // Next 15.4 and 15.5 make pages with a copy of its own handler that never comes by here, and take this one instead.
    if (cache.hasCustomCacheHandler) return
    globalThis[CACHE_HANDLERS] ??= {}
    globalThis[CACHE_HANDLERS].FetchCache ??= made
  }

  function wrapHandler(handler) {
    const { get, set, revalidateTag } = handler
    if (typeof get === 'function') handler.get = wrapGet(get)
    if (typeof set === 'function') handler.set = wrapSet(set)
    if (typeof revalidateTag === 'function') handler.revalidateTag = wrapRevalidateTag(revalidateTag)
  }

  function wrapGet(get) {
    return async function getDescribed(key, context, ...rest) {
      const entry = await get.call(this, key, context, ...rest)
      const visit = visits.getStore()
      if (visit) carefully(() => noteFound(visit, key, context, entry))
      return entry
    }
  }

  function noteFound(visit, key, { kind, kindHint, tags, softTags } = {}, entry) {
    // Data that was fetched with tags counts for answers that the app lets the edge keep on its own account.
    if (String(kind ?? kindHint).toUpperCase() === 'FETCH') {
      if (tags || softTags) note(visit, labelOf([...(tags ?? []), ...(softTags ?? [])]))
    } else if (entry) {
      mend(entry.value)
      visit.found ??= new Map()
      visit.found.set(key, entry.value)
      describe(key, entry.value, entry.lastModified)
    }
  }

  function wrapSet(set) {
    return async function setAndTold(key, value, ...rest) {
      if (value?.kind === 'FETCH' || value?.kind === 'IMAGE') return set.call(this, key, value, ...rest)
      const visit = visits.getStore()
      carefully(() => describe(key, value, Date.now()))
      const result = await set.call(this, key, value, ...rest)
      const before = visit?.found?.get(key)
      if (visit?.isOnDemand) await purges.now(entriesOf([PATH_TAG + pathOf(key)]))
      // Somebody got the old one meanwhile. It is the same one still where making it anew has failed.
      else if (before !== undefined && before !== value) purges.soon([encodeTag(PATH_TAG + pathOf(key))])
      return result
    }
  }

  function wrapRevalidateTag(revalidateTag) {
    return function revalidateTagAndTell(tags, ...rest) {
      const revalidated = (async () => {
        try {
          return await revalidateTag.call(this, tags, ...rest)
        } finally {
          await Promise.allSettled(updates)
          await purges.now(entriesOf([tags].flat()))
        }
      })()
      const visit = visits.getStore()
      const told = revalidated.catch(() => undefined)
      if (visit) carefully(() => hold(visit, told))
      return revalidated
    }
  }

  /** What handlers of `use cache` that the app brings are busy with. The edge is told when they are done as well. */
  const updates = new Set()

  function meetUseCacheHandlers() {
    for (const handler of globalThis[USE_CACHE_HANDLERS] ?? []) {
      if (!isNew(handler)) continue
      for (const name of ['updateTags', 'expireTags']) {
        const original = handler[name]
        if (typeof original !== 'function') continue
        handler[name] = function updateWatched(...rest) {
          const result = original.apply(this, rest)
          const update = Promise.resolve(result).then(ended, ended)
          function ended() {
            updates.delete(update)
          }
          updates.add(update)
          return result
        }
      }
    }
  }
}

/**
 * A handler that keeps values as JSON, as that of @wpengine/atlas-next 3.0 does, gives bytes back as lists of numbers and
 * maps as nothing. Next.js answers 500 with those, or `[object Object]`.
 */
function mend(value) {
  if (value === null || typeof value !== 'object') return
  for (const name of ['rscData', 'body'])
    if (value[name]?.type === 'Buffer' && Array.isArray(value[name].data)) value[name] = Buffer.from(value[name].data)
  if (value.segmentData && typeof value.segmentData.get !== 'function') value.segmentData = undefined
}

/** Tags and age of what is stored, by what is stored. */
const descriptions = new WeakMap()

/**
 * The answer to the current visit is made of this, and so are those of others who asked for it at the same time: Next.js
 * looks only once for all of them. Each of them asks the value for its kind, and is noticed by that.
 */
function describe(key, value, lastModified) {
  const isThere = value !== null && typeof value === 'object'
  const known = isThere ? descriptions.get(value) : undefined
  const description =
    known?.lastModified === lastModified
      ? known
      : {
          key,
          label: labelOf(tagsOf(key, value)),
          lastModified,
          hasOwnLifetime: value?.headers?.['cache-control'] !== undefined,
        }
  if (isThere) descriptions.set(value, description)
  if (isThere && !known && Object.isExtensible(value)) watchKind(value)
  const visit = visits.getStore()
  // One that asks for a page to be made anew is not answered with it.
  if (visit && !visit.isOnDemand) noteDescribed(visit, description)
}

function watchKind(value) {
  let { kind } = value
  Object.defineProperty(value, 'kind', {
    configurable: true,
    enumerable: true,
    get() {
      const visit = visits.getStore()
      const description = descriptions.get(value)
      if (visit && !visit.isOnDemand && visit.description !== description)
        carefully(() => noteDescribed(visit, description))
      return kind
    },
    set(other) {
      kind = other
    },
  })
}

function noteDescribed(visit, description) {
  visit.description = description
  const { key, label, lastModified, hasOwnLifetime } = description
  note(visit, label)
  // What was looked for first decides on the lifetime, be it found or made now; a page for errors may come after it.
  visit.mainKey ??= key
  if (visit.mainKey !== key) return
  // A lifetime that the app has set by itself begins with the answer, and not when the page was made.
  const isByNext = !hasOwnLifetime && !visit.res.hasHeader('cache-control')
  visit.ageSeconds = isByNext && lastModified > 0 ? Math.floor((Date.now() - lastModified) / 1000) : 0
}

function tagsOf(key, value) {
  const written = value?.headers?.[TAGS_HEADER]
  const path = pathOf(key)
  return [
    ...(typeof written === 'string' && written !== '' ? written.split(',') : []),
    PATH_TAG + path,
    ...(path === '/index' ? [`${PATH_TAG}/`] : []),
  ]
}

/** Since 16.4 the route is part of the key: `/route-cache/APP_PAGE/<digest>/$/blog/hello`. */
function pathOf(key) {
  const text = String(key)
  const end = text.startsWith('/route-cache/') ? text.indexOf('/$/') : -1
  return end === -1 ? text : text.slice(end + 2)
}

/** As the edge is told: tags, and beside those that stand for one path the path, for answers without tags. */
function entriesOf(tags) {
  const entries = new Set(tags.length > 0 ? [TOO_MANY] : [])
  for (const tag of tags.map(encodeTag)) {
    entries.add(tag)
    if (tag.startsWith(`${PATH_TAG}/`) && !tag.includes('[')) entries.add(tag.slice(PATH_TAG.length))
  }
  return entries
}
