'use strict'
// The caches of Next.js, which may be filled by a build or by an earlier process: an answer that read from one is not described
// by what was fetched for it. As in the hook for Next.js, the cache of each request is found in globalThis.__incrementalCache.
const { carefully } = require('./carefully.cjs')
const { current } = require('./outside.cjs')

const NAME = '__incrementalCache'
const USE_CACHE_HANDLERS = Symbol.for('@next/cache-handlers-set')

function watchNextCache() {
  const before = Object.getOwnPropertyDescriptor(globalThis, NAME)
  let value = before?.value
  Object.defineProperty(globalThis, NAME, {
    configurable: true,
    enumerable: true,
    get: before?.get ?? (() => value),
    set(cache) {
      if (before?.set) before.set.call(globalThis, cache)
      else value = cache
      carefully(() => {
        const handler = cache?.cacheHandler
        if (handler) watch(Object.hasOwn(handler, 'get') ? handler : Object.getPrototypeOf(handler))
        for (const one of globalThis[USE_CACHE_HANDLERS] ?? []) watch(one)
      })
    },
  })
}

const watched = new WeakSet()

function watch(handler) {
  const { get } = handler
  if (typeof get !== 'function' || watched.has(handler)) return
  watched.add(handler)
  handler.get = async function getNoted(...given) {
    const found = await get.apply(this, given)
    const visit = current.getStore()
    if (found && visit) visit.doubt = 'app-keeps'
    return found
  }
}

module.exports = { watchNextCache }
