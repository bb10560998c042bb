import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../base/index.ts'
import type { Reason } from '../contract/index.ts'
import { problemOf } from './fetch.ts'

const from = { url: 'https://git.example.com/a/b', branch: 'main', username: 'me', knownHosts: '' }

const WRITTEN: [errors: string, reason: Reason][] = [
  ["fatal: Authentication failed for 'https://git.example.com/a/b/'", 'REPOSITORY_AUTHENTICATION_FAILED'],
  [
    "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
    'REPOSITORY_AUTHENTICATION_FAILED',
  ],
  [
    "remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found",
    'REPOSITORY_AUTHENTICATION_FAILED',
  ],
  [
    'git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.',
    'REPOSITORY_AUTHENTICATION_FAILED',
  ],
  [
    '@@@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.',
    'REPOSITORY_HOST_KEY_CHANGED',
  ],
  ["fatal: unable to access 'https://x/': Could not resolve host: x", 'REPOSITORY_UNREACHABLE'],
  ['ssh: connect to host x port 22: Connection refused', 'REPOSITORY_UNREACHABLE'],
  [
    "fatal: unable to access 'https://x/': server certificate verification failed. CAfile: none",
    'REPOSITORY_UNREACHABLE',
  ],
  ["fatal: unable to access 'https://x/': The requested URL returned error: 503", 'REPOSITORY_UNREACHABLE'],
  ["fatal: couldn't find remote ref refs/heads/x", 'REPOSITORY_BRANCH_NOT_FOUND'],
  ['fatal: the remote end did something new', 'REPOSITORY_FETCH_FAILED'],
]

test('what git writes has a reason', () => {
  for (const [errors, reason] of WRITTEN) assert.equal(problemOf(errors, from).reason, reason, errors)
})

test('a token that a server sends back is not shown, in whatever form', () => {
  const token = new Secret('tok/en+1234567890')
  const forms = [
    token.reveal(),
    encodeURIComponent(token.reveal()),
    Buffer.from(token.reveal()).toString('base64'),
    Buffer.from(`me:${token.reveal()}`).toString('base64'),
  ]
  const { message } = problemOf(`remote: you sent ${forms.join(' ')}\nfatal: no`, { ...from, token })
  for (const form of forms) assert.ok(!message.includes(form), message)
  assert.match(message, /you sent \[secret\]/)
})
