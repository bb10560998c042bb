'use strict'
// Loaded into apps made with Next.js before their own code (NODE_OPTIONS=--require). It keeps the edge's cache coherent with
// Next.js's own: pages that Next.js regenerates leave the edge's cache at once, and revalidations outlive the process. Neither
// the app's files nor the behaviour of Next.js itself are changed:
//
//  - responses carry their tags, so that the edge knows which of them a revalidation affects;
//  - a revalidation by tag or path is passed on to the edge, after Next.js did its part, so that the edge cannot fetch the
//    old page again; and the request that asked for it is answered when both are done;
//  - a page that was regenerated because its time had come is passed on too;
//  - responses carry their age, so that a page lives as long as the app says, and not as long again in the edge;
//  - an entry that was revalidated by another process, or purged, is made anew before it is served (judge.cjs, expiries.cjs).
//    Where that fails, the old one is served (fallback.cjs).
//
// It relies on what the versions 14 to 16 have in common, whatever bundler made the app: the cache that Next.js gives
// to each request, which it puts into globalThis.__incrementalCache, and whose handler (its own or the app's) gets, sets
// and revalidates everything. Where something is not as expected, it does nothing, and the app works as on any other host.
const { AsyncLocalStorage } = require('node:async_hooks')
const { carefully, isUnderstood, say } = require('./carefully.cjs')
const { describe, entriesOf, PATH_TAG, pathOf } = require('./descriptions.cjs')
const { createExpiries } = require('./expiries.cjs')
const { guard, madeAnew } = require('./fallback.cjs')
const { createJudge } = require('./judge.cjs')
const { createPurges } = require('./purges.cjs')
const { createRemote } = require('./remote.cjs')
const { encodeTag, hold, visits, watchServers } = require('./visits.cjs')

/** Symbols on globalThis under which Next.js shares its cache handlers between bundles. */
const CACHE_HANDLERS = Symbol.for('@next/cache-handlers')
const USE_CACHE_HANDLERS = Symbol.for('@next/cache-handlers-set')
/** Modification times of files are a little behind the clock. */
const FILE_TIME_MS = 50

/** The key of fetched data that is being read: Next.js's own handler may write it again while it reads, as if it were new. */
const reads = new AsyncLocalStorage()

const {
  HEADLAND_NEXT_COHERENCE: wanted,
  HEADLESS_APPS_API_URL_ADDRESS: url,
  HEADLESS_APPS_API_TOKEN: token,
  HEADLESS_METADATA_ENV_ID: environment,
  HEADLAND_NEXT_BUILT: built,
} = process.env

if (wanted !== 'off' && url && token && environment) {
  try {
    const remote = built ? createRemote({ url, token, environment, built, say }) : undefined
    watchServers(remote?.before)
    start(createPurges({ url, token, environment, say }), createExpiries(remote?.look), remote?.made)
  } catch (error) {
    say(`revalidations do not reach the edge: ${error}`)
  }
}

function start(purges, expiries, noteMade = () => undefined) {
  const { judged, isOlderThanExpiry, noteStored } = createJudge(expiries)
  let current
  Object.defineProperty(globalThis, '__incrementalCache', {
    configurable: true,
    enumerable: true,
    get: () => current,
    set(cache) {
      current = cache
      if (!isUnderstood()) return
      carefully(() => {
        wrapCache(cache)
        wrapUseCacheHandlers()
      })
    },
  })

  const wrapped = new WeakSet()
  const isNew = (thing) => !wrapped.has(thing) && wrapped.add(thing) !== undefined

  function wrapCache(cache) {
    const handler = cache?.cacheHandler
    if (!handler) return
    const visit = visits.getStore()
    // res.revalidate() of the Pages Router asks for the page inside of the process, and waits until it is stored.
    if (visit && cache.isOnDemandRevalidate) visit.isOnDemand = true
    if (visit) guard(visit)
    forgetMissing(cache)
    const made = handler.constructor
    // Every request has a handler object of its own, so its class is wrapped. Where its functions are not those of its class,
    // the class of the cache that calls it is wrapped instead.
    const common = Object.hasOwn(handler, 'revalidateTag') ? cache.constructor : made
    if (isNew(common)) wrapHandler(common.prototype)
    // Next 15.4 and 15.5 make pages with another copy of their own handler, which is not seen here, unless this one is set.
    if (cache.hasCustomCacheHandler) return
    globalThis[CACHE_HANDLERS] ??= {}
    globalThis[CACHE_HANDLERS].FetchCache ??= made
  }

  /** Without this, pages that the build found missing would stay missing for good. */
  function forgetMissing(cache) {
    const { prerenderManifest: manifest } = cache
    if (!manifest?.notFoundRoutes?.length) return
    const isMissing = (route) => !expiries.isExpiredSinceBuild(() => [encodeTag(PATH_TAG + route), encodeTag(route)])
    cache.prerenderManifest = { ...manifest, notFoundRoutes: manifest.notFoundRoutes.filter(isMissing) }
  }

  function wrapHandler(handler) {
    const { get, set, revalidateTag } = handler
    if (typeof get === 'function') handler.get = wrapGet(get)
    if (typeof set === 'function') handler.set = wrapSet(set)
    if (typeof revalidateTag === 'function') handler.revalidateTag = wrapRevalidateTag(revalidateTag)
  }

  function wrapGet(get) {
    return async function getJudged(key, context, ...rest) {
      const read = () => get.call(this, key, context, ...rest)
      const kind = String(context?.kind ?? context?.kindHint).toUpperCase()
      if (kind === 'IMAGE') return read()
      const isFetch = kind === 'FETCH'
      const entry = await (isFetch ? reads.run(key, read) : read())
      return carefully(() => judged(visits.getStore(), key, { ...context, isFetch }, entry), entry)
    }
  }

  function wrapSet(set) {
    return async function setAndPurge(key, value, ...rest) {
      if (reads.getStore() === key) return
      if (value?.kind === 'IMAGE') return set.call(this, key, value, ...rest)
      const visit = visits.getStore()
      const isFetch = value?.kind === 'FETCH'
      const context = { ...rest[0], isFetch }
      const isOutdated = carefully(() => isOlderThanExpiry(visit, key, context, value), false)
      const store = async () => {
        const result = await set.call(this, key, value, ...rest)
        carefully(() => noteStored(visit, key, context, value))
        return result
      }
      if (isFetch) {
        if (isOutdated) return
        carefully(() => madeAnew(visit, key))
        return store()
      }
      if (isOutdated) {
        carefully(() => describe(key, value, Date.now(), { isExpired: true }))
        return
      }
      const before = visit?.found?.get(key)
      // Where regenerating failed, Next.js stores the old entry as if it were new. An expired entry must stay expired.
      if (before === value && visit?.expired?.has(key)) return
      const time = Date.now() - FILE_TIME_MS
      carefully(() => {
        madeAnew(visit, key, pathOf(key))
        describe(key, value, Date.now())
      })
      const result = await store()
      const tag = encodeTag(PATH_TAG + pathOf(key))
      if (visit?.isOnDemand) await purges.now(entriesOf([PATH_TAG + pathOf(key)]), { revalidated: [tag], time })
      // The old page may be in the edge's cache. Where regenerating failed, it is still the same value.
      else if (before !== undefined && before !== value) {
        noteMade(tag, time)
        purges.soon([tag], { made: [tag], time })
      } else if (before === undefined && carefully(() => expiries.isReplaced())) purges.soon([], { made: [tag], time })
      return result
    }
  }

  function wrapRevalidateTag(revalidateTag) {
    return function revalidateTagAndPurge(tags, ...rest) {
      const time = Date.now()
      const revalidated = (async () => {
        try {
          return await revalidateTag.call(this, tags, ...rest)
        } finally {
          await Promise.allSettled(updates)
          await purges.now(entriesOf([tags].flat()), { revalidated: [tags].flat().map(encodeTag), time })
        }
      })()
      const visit = visits.getStore()
      const settled = revalidated.catch(() => undefined)
      if (visit) carefully(() => hold(visit, settled))
      return revalidated
    }
  }

  /** Updates of the app's own `use cache` handlers that are under way. The edge is purged after them. */
  const updates = new Set()

  function wrapUseCacheHandlers() {
    for (const handler of globalThis[USE_CACHE_HANDLERS] ?? []) {
      if (!isNew(handler)) continue
      skipExpired(handler, expiries)
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

/** Makes a handler of `use cache` skip expired entries. */
function skipExpired(handler, expiries) {
  const { get } = handler
  if (typeof get !== 'function') return
  handler.get = async function getJudged(key, softTags, ...rest) {
    const entry = await get.call(this, key, softTags, ...rest)
    const tags = () => [...(entry.tags ?? []), ...(softTags ?? [])].map(encodeTag)
    const verdict = entry && carefully(() => expiries.judge(entry.timestamp, tags), 'fresh')
    return verdict === 'expired' && !visits.getStore()?.expiredMode ? undefined : entry
  }
}
