import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRecorded, keysOf, shownUrl } from './inside/requests.mjs'

const JSON_TYPE = { 'content-type': 'application/json' }
const graphql = (query: string) => Buffer.from(JSON.stringify({ query }))

const POSTS: [what: string, isKept: boolean, body: Buffer][] = [
  ['a query', true, graphql('query Posts { posts { nodes { id } } }')],
  ['a query without a name', true, graphql('{ posts { id } }')],
  ['GROQ', true, graphql('*[_type == "post"]{title}')],
  [
    'a field and a text that are called mutation',
    true,
    graphql('{ mutation(name: "mutation { x }") { id } } # mutation'),
  ],
  ['a persisted query', true, Buffer.from('{"extensions":{"persistedQuery":{"sha256Hash":"x"}}}')],
  ['a mutation', false, graphql('mutation Add { add { id } }')],
  ['a mutation after a query', false, graphql('query A { a } mutation B { b }')],
  ['a mutation in a batch', false, Buffer.from('[{"query":"{a}"},{"query":"mutation {b}"}]')],
  ['other JSON', false, Buffer.from('{"username":"x"}')],
  ['no JSON', false, Buffer.from('query')],
]

for (const [what, isKept, body] of POSTS) {
  test(`${what} by POST is ${isKept ? '' : 'not '}recorded`, () =>
    assert.equal(isRecorded('POST', JSON_TYPE, body), isKept))
}

test('credentials change the exact key and not the loose one, and neither shows them', () => {
  const at = { method: 'GET', origin: 'https://cms.example.com', path: '/posts', body: undefined }
  const keys = (headers: Record<string, string>, path = at.path) => keysOf('secret', { ...at, path, headers })
  const [one, other] = [keys({ authorization: 'Bearer a' }), keys({ authorization: 'Bearer b' })]
  assert.notEqual(one.exact, other.exact)
  assert.equal(one.loose, other.loose)
  assert.notEqual(keys({ accept: 'text/html' }).loose, keys({ accept: 'application/json' }).loose)
  assert.notEqual(keys({}, '/posts?page=2').loose, keys({}).loose)
  assert.notEqual(keysOf('other', { ...at, headers: {} }).loose, keys({}).loose)
})

test('values of parameters that may be secrets are not shown', () => {
  const shown = shownUrl('https://cdn.example.com', '/entries?access_token=abc&limit=10&api_key=def')
  assert.equal(shown, 'https://cdn.example.com/entries?access_token=…&limit=10&api_key=…')
})
