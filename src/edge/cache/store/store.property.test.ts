/**
 * The store compared with a model that is a plain list: whatever is put, purged and looked up, in any order, a request
 * never gets what was purged, belongs to another environment or was made by another deployment; everything else is
 * found.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../../test/support/fuzz.ts'
import { readLifetime } from '../policy/freshness.ts'
import { keyOf } from '../policy/key.ts'
import { variantOf } from '../policy/vary.ts'
import { type StoredResponse, toStored } from './object.ts'
import type { Partition } from './partition.ts'
import { createStore } from './store.ts'

const ENVIRONMENTS = ['e1', 'e2']
const PATHS = ['/', '/a']
const TAGS = ['t1', 't2']
const VARIES = [undefined, ['x-a'], ['x-a', 'x-b']]
const LIFETIME = readLifetime({ headers: ['Cache-Control', 'max-age=60'], requestMs: 0, responseMs: 0 })

type Object = {
  environment: string
  path: string
  tags: string[]
  vary: number
  headers: Record<string, string>
  deployment: string
}
type Step =
  /** A fetch begins, and what it brings is put later, or never. */
  | { kind: 'begin'; object: Object }
  | { kind: 'end'; which: number }
  | { kind: 'find'; environment: string; path: string; headers: Record<string, string>; deployment: string }
  | { kind: 'purge'; environment: string; paths?: string[]; tags?: string[] }
  | { kind: 'remove'; which: number }
  | { kind: 'keepOnly'; environments: string[] }

const environment = fc.constantFrom(...ENVIRONMENTS)
const path = fc.constantFrom(...PATHS)
const headers = fc.dictionary(fc.constantFrom('x-a', 'x-b'), fc.constantFrom('1', '2'))
const deployment = fc.constantFrom('d1', 'd1', 'd1', 'd2')
const object = fc.record({
  environment,
  path,
  tags: fc.subarray(TAGS),
  vary: fc.nat(VARIES.length - 1),
  headers,
  deployment,
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('begin' as const), object }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(3) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('find' as const), environment, path, headers, deployment }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), environment }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), environment, paths: fc.subarray(PATHS) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), environment, tags: fc.subarray(TAGS) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), which: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('keepOnly' as const),
      environments: fc.subarray(ENVIRONMENTS, { minLength: 1 }),
    }),
  },
)

type Known = { object: Object; variant: string; begunAt: number; stored: StoredResponse; partition: Partition }

const isSameList = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Everything that ever happened, and what follows from it. */
function createModel() {
  const ends: { at: number; environment: string; isHit(object: Object): boolean }[] = []
  let there: Known[] = []
  let time = 0

  const isGone = ({ object, begunAt }: Known): boolean =>
    ends.some((end) => end.at > begunAt && end.environment === object.environment && end.isHit(object))
  const isAt = (place: { environment: string; path: string }) => (known: Known) =>
    known.object.environment === place.environment && known.object.path === place.path

  return {
    tick: () => ++time,
    isGone,
    all: () => there,
    put(known: Known) {
      const { object } = known
      const isHere = isAt(object)
      // What the newest names in Vary counts for all of its address.
      there = there.filter(
        (other) =>
          !isHere(other) ||
          (isSameList(VARIES[other.object.vary], VARIES[object.vary]) && other.variant !== known.variant),
      )
      there.push(known)
    },
    find(asked: { environment: string; path: string; headers: Record<string, string>; deployment: string }) {
      const [newest] = there.filter(isAt(asked)).slice(-1)
      if (!newest) return undefined
      const vary = VARIES[newest.object.vary]
      const variant = vary ? variantOf(vary, asked.headers) : ''
      const found = there.find((known) => isAt(asked)(known) && known.variant === variant)
      if (!found) return undefined
      if (found.object.deployment === asked.deployment && !isGone(found)) return found
      there = there.filter((known) => known !== found)
      return undefined
    },
    end(environment: string, isHit: (object: Object) => boolean) {
      ends.push({ at: ++time, environment, isHit })
      there = there.filter((known) => !isGone(known))
    },
    remove(known: Known) {
      there = there.filter((other) => other !== known)
    },
  }
}

function toObject(
  { path, tags, vary, headers, deployment }: Object,
  purgeNumber: number,
  bytes: number,
): StoredResponse {
  const names = VARIES[vary]
  return toStored({
    key: keyOf({ scheme: 'http', authority: 'site', target: path, headers: {} }),
    path,
    variant: names ? variantOf(names, headers) : '',
    vary: names,
    status: 200,
    reason: 'OK',
    headers: [],
    isCompressible: false,
    lifetime: LIFETIME,
    deployment,
    tags,
    targeted: undefined,
    purgeNumber,
    storeTime: 0,
    validateTime: 0,
    size: bytes,
    body: Buffer.alloc(bytes),
    place: undefined,
  })
}

function follow(steps: readonly Step[], maxBytes: number, bytes: number, isWhole: boolean) {
  const store = createStore({ maxBytes, now: () => 0 })
  const model = createModel()
  const underWay: Known[] = []

  for (const step of steps) {
    switch (step.kind) {
      case 'begin': {
        const { object } = step
        const stored = toObject(object, store.purgeNumber(), bytes)
        const partition = store.partitionOf(object.environment)
        underWay.push({ object, variant: stored.variant, begunAt: model.tick(), stored, partition })
        break
      }
      case 'end': {
        const [known] = underWay.splice(step.which, 1)
        if (!known) break
        const isKept = store.put(known.partition, known.stored)
        assert.equal(isKept, !model.isGone(known), 'what was purged on its way is not kept')
        if (isKept) model.put(known)
        break
      }
      case 'find': {
        const { environment, path, headers, deployment } = step
        const key = keyOf({ scheme: 'http', authority: 'site', target: path, headers: {} })
        const found = store.find(store.partitionOf(environment), key, headers, deployment)
        const expected = model.find(step)
        if (found.kind === 'found') {
          const known = model.all().find(({ stored }) => stored === found.stored)
          assert.ok(known && !model.isGone(known), 'what is found was put, and neither purged nor replaced')
          assert.deepEqual([known.object.environment, known.object.deployment], [environment, deployment])
          assert.equal(known, expected)
        } else if (isWhole) assert.equal(expected, undefined, 'what is there is found')
        break
      }
      case 'purge': {
        const { environment, paths, tags } = step
        store.purge(step)
        const isAll = paths === undefined && tags === undefined
        model.end(
          environment,
          (object) => isAll || (paths ?? []).includes(object.path) || object.tags.some((tag) => tags?.includes(tag)),
        )
        break
      }
      case 'remove': {
        const known = model.all()[step.which]
        if (!known) break
        store.remove(known.partition, known.stored)
        model.remove(known)
        break
      }
      case 'keepOnly':
        store.keepOnly(new Set(step.environments))
        for (const gone of ENVIRONMENTS) if (!step.environments.includes(gone)) model.end(gone, () => true)
    }
    assert.ok(store.bytes() >= 0 && store.bytes() <= maxBytes)
  }
  for (const environment of ENVIRONMENTS) store.purge({ environment })
  assert.deepEqual([store.bytes(), store.count()], [0, 0], 'nothing is counted that is not there')
}

test('with memory for everything, exactly what was put and not purged is found', async () => {
  await holds(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => follow(steps, 1e9, 10, true)),
    800,
  )
})

test('with too little memory, what is found is still correct', async () => {
  await holds(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => follow(steps, 10_000, 900, false)),
    400,
  )
})
