import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { LIMITS } from '../contract/index.ts'
import { createCgiHead } from './cgi.ts'
import { headOf } from './stage.ts'
import { checkRef, readUpdates } from './updates.ts'

const [A, B, NONE] = ['a'.repeat(40), 'b'.repeat(40), '0'.repeat(40)]

test('the list of refs is read as git writes it, and a long or broken one is refused', () => {
  const text = `${NONE} ${A} refs/heads/main\n${A} ${B} refs/heads/x y\n${A} ${NONE} refs/tags/v1\n`
  assert.deepEqual(readUpdates(text), [
    { name: 'refs/heads/main', from: null, to: A },
    { name: 'refs/heads/x y', from: A, to: B },
    { name: 'refs/tags/v1', from: A, to: null },
  ])
  assert.throws(() => readUpdates(`${A} refs/heads/main`), { reason: 'GIT_FAILED' })
  const many = `${NONE} ${A} refs/heads/x\n`.repeat(LIMITS.refsPerPush + 1)
  assert.throws(() => readUpdates(many), { reason: 'TOO_MANY_REFS' })
})

const NAMES = [
  ...[
    'main',
    'feature/login',
    'a.b',
    'v1.0-rc_2',
    'ünï/код',
    'a@b',
    'x{y',
    "a'b",
    'a"b$(c)',
    'refs/heads/x',
    'a.lockx',
  ],
  ...[
    '-x',
    '.x',
    'x.',
    'a..b',
    'a//b',
    '/a',
    'a/',
    'a/.b',
    'x.lock',
    'a.lock/b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?b',
    'a*',
  ],
  ...['a[b', 'a\\b', '@{x', 'a@{b', 'a\u0001b', 'a\u007fb', 'HEAD'],
]

test('a name is one of a branch where git says so', async () => {
  for (const name of NAMES) {
    const isGits = await promisify(execFile)('git', ['check-ref-format', '--branch', name]).then(
      () => true,
      () => false,
    )
    const check = () => checkRef({ name: `refs/heads/${name}`, from: null, to: A })
    if (isGits) assert.doesNotThrow(check, name)
    else assert.throws(check, { reason: 'GIT_FAILED' }, JSON.stringify(name))
  }
})

test('what is neither a branch nor a tag is refused, and a long name too', () => {
  for (const name of ['refs/notes/x', 'HEAD', 'refs/heads/', 'refs/heads', `refs/tags/${'x'.repeat(201)}`]) {
    assert.throws(() => checkRef({ name, from: null, to: A }), { reason: 'GIT_FAILED' }, name)
  }
})

test('a clone checks out main, else master, else the first branch', () => {
  const refs = (...names: string[]) => names.map((name) => ({ name, target: A }))
  assert.equal(headOf(refs('refs/heads/a', 'refs/heads/main')), 'refs/heads/main')
  assert.equal(headOf(refs('refs/heads/a', 'refs/heads/master')), 'refs/heads/master')
  assert.equal(headOf(refs('refs/heads/a', 'refs/tags/b')), 'refs/heads/a')
  assert.equal(headOf([]), 'refs/heads/main')
})

test('the head of an answer of CGI is found wherever its chunks end', () => {
  const text = 'Status: 403 Forbidden\r\nContent-Type: text/plain\r\nSet-Cookie: x=y\r\n\r\n\r\nbody'
  for (let at = 1; at < text.length; at++) {
    const reader = createCgiHead()
    const first = reader.take(Buffer.from(text.slice(0, at)))
    const found = first ?? reader.take(Buffer.from(text.slice(at)))
    assert.deepEqual(found?.head, { status: 403, headers: { 'content-type': 'text/plain' } })
    assert.equal(`${found?.rest}${first ? text.slice(at) : ''}`, '\r\nbody')
  }
  assert.throws(() => createCgiHead().take(Buffer.alloc(20_000, 'x')), { reason: 'GIT_FAILED' })
})
