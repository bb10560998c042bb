import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Lifetime, readLifetime } from '../policy/freshness.ts'
import { keyOf } from '../policy/key.ts'
import { variantOf } from '../policy/vary.ts'
import { type Draft, fromMeta, headersOf, type StoredResponse, toMeta, toStored, weightOf } from './object.ts'
import type { Partition } from './partition.ts'
import { createStore } from './store.ts'

const NOW = 1_000_000
const LIFETIME: Lifetime = readLifetime({ headers: ['Cache-Control', 'max-age=60'], requestMs: NOW, responseMs: NOW })

const keyAt = (path: string) => keyOf({ scheme: 'http', authority: 'site.localhost', target: path, headers: {} })

function object(path: string, given: Partial<Draft> = {}): StoredResponse {
  const { body = Buffer.alloc(1000) } = given
  return toStored({
    key: keyAt(path),
    path,
    variant: '',
    vary: undefined,
    status: 200,
    reason: 'OK',
    headers: ['Cache-Control', 'max-age=60'],
    isCompressible: true,
    lifetime: LIFETIME,
    deployment: 'd1',
    tags: [],
    targeted: undefined,
    purgeNumber: 0,
    storeTime: NOW,
    validateTime: NOW,
    size: body.length,
    body,
    place: undefined,
    ...given,
  })
}

const createTestStore = (maxBytes = 1e9, isOnDisk = (_: StoredResponse) => false) =>
  createStore({ maxBytes, now: () => NOW, isOnDisk })

type Store = ReturnType<typeof createTestStore>

const isFound = (store: Store, partition: Partition, path: string, headers = {}) =>
  store.find(partition, keyAt(path), headers, 'd1').kind === 'found'

test('what was put is found by its key and its deployment', () => {
  const store = createTestStore()
  const partition = store.partitionOf('e1')
  const stored = object('/a')
  assert.equal(store.put(partition, stored), true)
  assert.deepEqual(store.find(partition, keyAt('/a'), {}, 'd1'), { kind: 'found', stored })
  assert.equal(store.find(partition, keyAt('/b'), {}, 'd1').kind, 'uri-miss')
  assert.equal(store.find(store.partitionOf('e2'), keyAt('/a'), {}, 'd1').kind, 'uri-miss')
  assert.equal(store.find(partition, keyAt('/a'), {}, 'd2').kind, 'uri-miss')
  assert.equal(store.bytes(), 0, 'what is of another deployment is let go')
})

test('purging an environment takes the same steps however much it holds', () => {
  for (const count of [0, 100_000]) {
    const store = createTestStore()
    const partition = store.partitionOf('e1')
    for (let n = 0; n < count; n++) store.put(partition, object(`/${n}`, { body: Buffer.alloc(0) }))
    const { slots } = partition
    let touched = 0
    // Any code that iterates over them calls this.
    for (const name of ['delete', 'clear', 'entries', 'values', 'keys', 'forEach', Symbol.iterator] as const) {
      const original = slots[name] as (...given: unknown[]) => unknown
      Object.assign(slots, {
        [name](...given: unknown[]) {
          touched++
          return original.apply(slots, given)
        },
      })
    }
    store.purge({ environment: 'e1', paths: ['/1'] })
    store.purge({ environment: 'e1', tags: ['a'] })
    store.purge({ environment: 'e1' })
    assert.equal(touched, 0)
    assert.equal(store.bytes(), 0)
    assert.equal(store.count(), 0)
  }
})

test('a response whose fetch began before a purge is not stored after it', () => {
  const store = createTestStore()
  const partition = store.partitionOf('e1')
  const before = store.purgeNumber()
  store.purge({ environment: 'e1', paths: ['/a'], tags: ['news'] })
  const after = store.purgeNumber()
  assert.equal(store.put(partition, object('/a', { purgeNumber: before })), false)
  assert.equal(store.put(partition, object('/b', { purgeNumber: before, tags: ['news'] })), false)
  assert.equal(store.put(partition, object('/b', { purgeNumber: before, tags: ['old'] })), true)
  assert.equal(store.put(partition, object('/a', { purgeNumber: after })), true)
  assert.equal(store.put(store.partitionOf('e2'), object('/a', { purgeNumber: before })), true)
})

test('a purge after a restart has a higher number than the objects that it removes', () => {
  const store = createTestStore()
  const partition = store.partitionOf('e1')
  // It was stored after seven purges, of which nothing is written down any more.
  store.put(partition, object('/a', { purgeNumber: 7, tags: ['news'] }))
  store.put(partition, object('/b', { purgeNumber: 7, tags: ['news'] }))
  store.purge({ environment: 'e1', paths: ['/a'] })
  assert.equal(isFound(store, partition, '/a'), false)
  assert.equal(isFound(store, partition, '/b'), true)
  store.purge({ environment: 'e1', tags: ['news'] })
  assert.equal(isFound(store, partition, '/b'), false)
})

test('marks of purges are bounded in number and in size; beyond that everything goes', () => {
  for (const [count, length] of [
    [50_001, 1],
    [600, 8000],
  ] as const) {
    const store = createTestStore()
    const partition = store.partitionOf('e1')
    store.put(partition, object('/kept'))
    for (let n = 0; n < count; n++) store.purge({ environment: 'e1', paths: [`/${n}${'x'.repeat(length)}`] })
    assert.equal(isFound(store, partition, '/kept'), false)
    assert.ok(partition.marks.size < count)
    assert.equal(store.put(partition, object('/old', { purgeNumber: 1 })), false)
    assert.equal(store.put(partition, object('/new', { purgeNumber: store.purgeNumber() })), true)
  }
})

test('the fullest environment gives up its own, and no tenant pushes out another', () => {
  const store = createTestStore(1_000_000)
  const small = store.partitionOf('small')
  for (let n = 0; n < 10; n++) store.put(small, object(`/${n}`))
  const greedy = store.partitionOf('greedy')
  for (let n = 0; n < 5000; n++) store.put(greedy, object(`/${n}`))
  assert.ok(store.bytes() <= 1_000_000)
  for (let n = 0; n < 10; n++) assert.ok(isFound(store, small, `/${n}`), `/${n}`)
  assert.ok(isFound(store, greedy, '/4999'))
  assert.equal(isFound(store, greedy, '/0'), false)
  const third = store.partitionOf('third')
  for (let n = 0; n < 100; n++) store.put(third, object(`/${n}`))
  for (let n = 0; n < 100; n++) assert.ok(isFound(store, third, `/${n}`), 'a new environment gets memory')
})

test('recently used objects stay, others are evicted', () => {
  const store = createTestStore(200_000)
  const partition = store.partitionOf('e1')
  for (let n = 0; n < 50; n++) store.put(partition, object(`/${n}`))
  for (let round = 0; round < 20; round++) {
    const found = store.find(partition, keyAt('/7'), {}, 'd1')
    assert.equal(found.kind, 'found', `round ${round}`)
    if (found.kind === 'found') found.stored.isUsed = true
    for (let n = 0; n < 20; n++) store.put(partition, object(`/${round}-${n}`))
  }
  assert.equal(isFound(store, partition, '/8'), false)
})

test('bodies that are on the disk leave memory first, and what was never to be compressed stays so', () => {
  const store = createTestStore(200_000, () => true)
  const partition = store.partitionOf('e1')
  for (let n = 0; n < 150; n++) store.put(partition, object(`/${n}`, { isCompressible: n % 2 === 0 }))
  assert.ok(store.bytes() <= 200_000)
  assert.equal(store.count(), 150)
  const found = store.find(partition, keyAt('/1'), {}, 'd1')
  const other = store.find(partition, keyAt('/0'), {}, 'd1')
  assert.ok(found.kind === 'found' && other.kind === 'found')
  assert.deepEqual([found.stored.body, found.stored.br, found.stored.gzip], [undefined, null, null])
  assert.deepEqual([other.stored.body, other.stored.br, other.stored.gzip], [undefined, undefined, undefined])
})

test('what is found on the disk alone takes at most half of the memory, and bodies have the other half', () => {
  const store = createTestStore(400_000, () => true)
  const partition = store.partitionOf('e1')
  for (let n = 0; n < 5000; n++) store.put(partition, object(`/${n}`))
  assert.ok(store.bytes() <= 400_000)
  assert.ok(store.count() > 200, `${store.count()} are found`)
  assert.ok(partition.bodyBytes > 100_000, `${partition.bodyBytes} bytes of bodies`)
  assert.ok(isFound(store, partition, '/4999'))
  store.resize(50_000)
  assert.ok(store.bytes() <= 50_000)
})

test('what is counted is what is there, whatever happens to it', () => {
  const store = createTestStore(300_000, ({ path }) => path.length % 2 === 0)
  const partitions = ['e1', 'e2', 'e3'].map((name) => store.partitionOf(name))
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647
    return seed % below
  }
  const known: { partition: Partition; stored: StoredResponse }[] = []
  for (let step = 0; step < 20_000; step++) {
    const partition = partitions[random(3)] as Partition
    const path = `/${random(40)}`
    const language = ['de', 'en', 'fr'][random(3)] as string
    switch (random(8)) {
      case 0: {
        const one = known[random(known.length || 1)]
        if (one) store.change(one.partition, one.stored, () => (one.stored.br = Buffer.alloc(random(2000))))
        break
      }
      case 1: {
        const one = known[random(known.length || 1)]
        if (one) store.change(one.partition, one.stored, () => (one.stored.body = Buffer.alloc(random(2000))))
        break
      }
      case 2: {
        const one = known[random(known.length || 1)]
        if (one) store.remove(one.partition, one.stored)
        break
      }
      case 3:
        store.find(partition, keyAt(path), { 'accept-language': language }, random(20) ? 'd1' : 'd2')
        break
      case 4:
        if (random(10) === 0) store.purge({ environment: `e${1 + random(3)}`, ...(random(5) ? { paths: [path] } : {}) })
        break
      default: {
        const vary = random(3) ? ['accept-language'] : undefined
        const variant = vary ? variantOf(vary, { 'accept-language': language }) : ''
        const stored = object(path, {
          vary,
          variant,
          body: Buffer.alloc(random(3000)),
          purgeNumber: store.purgeNumber(),
        })
        store.put(partition, stored)
        known.push({ partition, stored })
      }
    }
    if (step % 500 > 0) continue
    let total = 0
    for (const one of partitions) {
      let bytes = 0
      for (const slot of one.slots.values()) {
        for (const stored of 'variants' in slot ? slot.variants.values() : [slot]) bytes += weightOf(stored)
      }
      assert.equal(one.bytes, bytes, `step ${step}`)
      assert.ok(one.bodyBytes >= 0 && one.bodyBytes <= bytes)
      total += bytes
    }
    assert.equal(store.bytes(), total)
    assert.ok(total <= 300_000)
  }
})

test('responses that differ by a header stand side by side, and are bounded', () => {
  const store = createTestStore()
  const partition = store.partitionOf('e1')
  const vary = ['accept-language']
  const put = (language: string, names: readonly string[] = vary) => {
    const variant = variantOf(names, { 'accept-language': language })
    store.put(partition, object('/', { vary: names.length > 0 ? names : undefined, variant }))
  }
  const find = (language: string) => store.find(partition, keyAt('/'), { 'accept-language': language }, 'd1').kind
  put('de')
  put('en')
  assert.deepEqual([find('de'), find('en'), find('fr')], ['found', 'found', 'vary-miss'])
  put('fr', ['accept-language', 'x-theme'])
  assert.deepEqual([find('fr'), find('de')], ['found', 'vary-miss'], 'what the newest names counts for all')
  put('any', [])
  assert.deepEqual([find('fr'), find('de')], ['found', 'found'])
  for (let n = 0; n < 1000; n++) put(`l${n}`)
  assert.equal(store.variantsAt(partition, keyAt('/')).length, 64)
  assert.equal(find('l999'), 'found')
  assert.equal(find('l0'), 'vary-miss')
  assert.equal(
    store.bytes(),
    store.variantsAt(partition, keyAt('/')).reduce((sum, stored) => sum + weightOf(stored), 0),
  )
})

test('what was chosen by other headers does not come back when those are named again', () => {
  const store = createTestStore()
  const partition = store.partitionOf('e1')
  const put = (vary: string[], headers: Record<string, string>) =>
    store.put(partition, object('/', { vary, variant: variantOf(vary, headers) }))
  put(['accept-language'], { 'accept-language': 'de' })
  put(['accept', 'accept-language'], {})
  put(['accept-language'], { 'accept-language': 'en' })
  assert.equal(isFound(store, partition, '/', { 'accept-language': 'en' }), true)
  assert.equal(isFound(store, partition, '/', { 'accept-language': 'de' }), false)
})

test('long headers count in full', () => {
  const long = 'x'.repeat(30_000)
  const plain = weightOf(object('/'))
  const heavy: Partial<Draft>[] = [
    { vary: ['cookie'], variant: variantOf(['cookie'], { cookie: long }) },
    { tags: [long] },
    { targeted: `max-age=60, x="${long}"` },
    { headers: ['Content-Security-Policy', long] },
    { headers: ['X-Custom', long] },
    { key: keyAt(`/${long}`) },
    { path: `/${long}` },
  ]
  for (const given of heavy)
    assert.ok(weightOf(object('/', given)) >= plain + 30_000, JSON.stringify(given).slice(0, 80))
})

test('a tag does not hold the head that it was read from in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const store = createTestStore()
  const partition = store.partitionOf('e1')
  collect()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 500; n++) {
    const head = Buffer.from(`${'x'.repeat(64_000)} a tag of many letters ${n}`).toString('latin1')
    const tag = head.slice(64_001)
    store.put(
      partition,
      object(`/${n}`, { tags: [tag], vary: [tag], reason: tag, targeted: tag, body: Buffer.alloc(0) }),
    )
  }
  collect()
  const grown = process.memoryUsage().heapUsed - before
  assert.ok(grown < 8_000_000, `500 objects take ${grown} bytes, and their heads took 32 MB`)
  assert.equal(store.count(), 500)
})

test('environments that were removed are forgotten, and nothing is put into them', () => {
  const store = createTestStore()
  const gone = store.partitionOf('gone')
  store.put(gone, object('/a'))
  store.keepOnly(new Set(['other']))
  assert.equal(store.bytes(), 0)
  assert.equal(store.put(gone, object('/a', { purgeNumber: store.purgeNumber() })), false)
  assert.notEqual(store.partitionOf('gone'), gone)
})

test('an object that is read back from the disk is the one that was written', () => {
  const headers = ['Content-Type', 'text/html', 'X-Own', 'ümläut'.normalize('NFC'), 'Vary', 'Accept-Language']
  for (const isCompressible of [true, false]) {
    const written = object('/a', {
      headers,
      isCompressible,
      tags: ['a'],
      targeted: 'max-age=60',
      vary: ['accept-language'],
    })
    const place = { segment: 1, offset: 2, metaBytes: 3, bodyBytes: 1000 }
    const { environment, stored } = fromMeta(toMeta('e1', written), place)
    assert.equal(environment, 'e1')
    assert.deepEqual(stored, { ...written, body: undefined, place })
    assert.deepEqual(headersOf(stored).toSorted(), headers.toSorted())
  }
})

test('one object never takes more than a quarter of the memory', () => {
  const store = createTestStore(100_000)
  assert.equal(store.put(store.partitionOf('e1'), object('/large', { body: Buffer.alloc(30_000) })), false)
  assert.equal(store.put(store.partitionOf('e1'), object('/small', { body: Buffer.alloc(20_000) })), true)
})

test('an eviction looks at a bounded number of objects, though a hundred thousand were all used', () => {
  let looked = 0
  const store = createTestStore(1e8)
  const partition = store.partitionOf('e1')
  const count = 100_000
  for (let n = 0; n < count; n++) {
    const stored = object(`/${n}`, { body: Buffer.alloc(0) })
    let isUsed = true
    Object.defineProperty(stored, 'isUsed', {
      get: () => isUsed,
      set(value: boolean) {
        isUsed = value
        looked++
      },
    })
    store.put(partition, stored)
  }
  store.resize(store.bytes() - 1)
  assert.ok(store.count() < count, 'something went')
  assert.ok(looked <= 2000, `${looked} were given another chance`)
})
