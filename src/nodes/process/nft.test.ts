import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digestOf } from './nft.ts'

const listed = (...objects: object[]) => JSON.stringify({ nftables: [{ metainfo: { version: '1.0.6' } }, ...objects] })
const RULE = { family: 'inet', chain: 'to_app', expr: [{ drop: null }] }

test('a digest is the same whatever numbers the kernel gives, and whatever version of nft lists it', () => {
  const other = JSON.stringify({ nftables: [{ metainfo: { version: '1.1.0' } }, { rule: { handle: 9, ...RULE } }] })
  assert.equal(digestOf(listed({ rule: { handle: 4, ...RULE } })), digestOf(other))
})

test('a digest is another one for other rules, for fewer of them, and for another order', () => {
  const accept = { ...RULE, expr: [{ accept: null }] }
  const digests = [[RULE], [accept], [], [RULE, accept], [accept, RULE]].map((rules) =>
    digestOf(listed(...rules.map((rule) => ({ rule })))),
  )
  assert.equal(new Set(digests).size, 5)
})

test('the connections that are counted are not part of a digest, and elements of other sets are', () => {
  const withElements = (name: string, elem: string[]) => digestOf(listed({ set: { name, elem } }))
  assert.equal(withElements('connected', ['10.0.0.1']), withElements('connected', ['10.0.0.2']))
  assert.notEqual(withElements('edges', ['10.0.0.1']), withElements('edges', ['10.0.0.2']))
})

test('a list that is no JSON has no digest', () => {
  assert.equal(digestOf('{"nftables": [{"table": {"flags": '), undefined)
})
