import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { startStatusServer } from '../../../test/support/git/status-server.ts'
import { Secret } from '../../base/index.ts'
import { LIMITS, Problem } from '../../contract/index.ts'
import { apiBaseOf, newHookSecret, PROVIDERS, type ProviderName, providerNamed, providerOf } from './index.ts'

const SECRET = new Secret('4FqWUr-a0hZ3')
const [OLD, NEW, ZERO] = [
  '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
  'da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
  '0'.repeat(40),
]

const hmac = (body: string | Buffer, key: string | Buffer = SECRET.reveal()) => createHmac('sha256', key).update(body)
const hex = (body: string) => hmac(body).digest('hex')
const read = (name: ProviderName, headers: IncomingHttpHeaders, payload: unknown) =>
  providerNamed(name).read(headers, Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)))
const proves = (name: ProviderName, headers: IncomingHttpHeaders, body: string, secret = SECRET) =>
  providerNamed(name).proves(headers, Buffer.from(body), secret)

/** Payloads in the shape of the services' documentation, without the parts that repeat. */
const GITHUB_PUSH = {
  ...{ ref: 'refs/heads/main', before: OLD, after: NEW, created: false, deleted: false, forced: false, base_ref: null },
  compare: 'https://github.com/Codertocat/Hello-World/compare/6113728f27ae...da1560886d4f',
  commits: [
    { id: NEW, message: 'fixed readme', author: { name: 'Codertocat' }, added: ['a'], removed: [], modified: [] },
  ],
  head_commit: { id: NEW },
  repository: { full_name: 'Codertocat/Hello-World', default_branch: 'main' },
  pusher: { name: 'Codertocat' },
}
const GITLAB_PUSH = {
  ...{ object_kind: 'push', event_name: 'push', before: OLD, after: NEW, ref: 'refs/heads/master', checkout_sha: NEW },
  project: { id: 15, path_with_namespace: 'mike/diaspora', git_http_url: 'http://example.com/mike/diaspora.git' },
  commits: [{ id: NEW, message: 'fixed readme' }],
  total_commits_count: 4,
}
const branchOf = (name: string, hash: string) => ({ type: 'branch', name, target: { type: 'commit', hash } })
const BITBUCKET_PUSH = {
  push: {
    changes: [
      { forced: false, old: branchOf('master', OLD), new: branchOf('master', NEW), created: false, closed: false },
      { forced: false, old: null, new: branchOf('feature/a', OLD), created: true, closed: false },
      { forced: false, old: branchOf('gone', OLD), new: null, created: false, closed: true },
      { forced: false, old: null, new: { type: 'tag', name: 'v1', target: { hash: NEW } }, created: true },
      { forced: false, old: { type: 'tag', name: 'v0' }, new: null, closed: true },
    ],
  },
  repository: { full_name: 'team/site' },
}
const SERVER_PUSH = {
  eventKey: 'repo:refs_changed',
  changes: [
    {
      ref: { id: 'refs/heads/master', displayId: 'master', type: 'BRANCH' },
      fromHash: OLD,
      toHash: NEW,
      type: 'UPDATE',
    },
    { ref: { id: 'refs/heads/old', displayId: 'old', type: 'BRANCH' }, fromHash: OLD, toHash: ZERO, type: 'DELETE' },
    { ref: { id: 'refs/tags/v1', displayId: 'v1', type: 'TAG' }, fromHash: ZERO, toHash: NEW, type: 'ADD' },
  ],
}

test('a push of each service names the branches and their commits, and leaves tags out', () => {
  const pushed = (branch: string) => ({ kind: 'CHANGES', changes: [{ kind: 'PUSH', branch, commit: NEW }] })
  assert.deepEqual(read('GITHUB', { 'x-github-event': 'push' }, GITHUB_PUSH), pushed('main'))
  assert.deepEqual(read('GITEA', { 'x-gitea-event': 'push', 'x-github-event': 'push' }, GITHUB_PUSH), pushed('main'))
  assert.deepEqual(read('GITEA', { 'x-forgejo-event': 'push' }, GITHUB_PUSH), pushed('main'))
  assert.deepEqual(read('GITLAB', { 'x-gitlab-event': 'Push Hook' }, GITLAB_PUSH), pushed('master'))
  assert.deepEqual(read('GITLAB', { 'x-gitlab-event': 'System Hook' }, GITLAB_PUSH), pushed('master'))
  assert.deepEqual(read('BITBUCKET', { 'x-event-key': 'repo:push' }, BITBUCKET_PUSH), {
    kind: 'CHANGES',
    changes: [
      { kind: 'PUSH', branch: 'master', commit: NEW },
      { kind: 'PUSH', branch: 'feature/a', commit: OLD },
      { kind: 'DELETED', branch: 'gone' },
    ],
  })
  assert.deepEqual(read('BITBUCKET', { 'x-event-key': 'repo:refs_changed' }, SERVER_PUSH), {
    kind: 'CHANGES',
    changes: [
      { kind: 'PUSH', branch: 'master', commit: NEW },
      { kind: 'DELETED', branch: 'old' },
    ],
  })
  const form = new URLSearchParams({ payload: JSON.stringify(GITHUB_PUSH) }).toString()
  const ofForm = { 'content-type': 'application/x-www-form-urlencoded', 'x-github-event': 'push' }
  for (const name of ['GITHUB', 'GITEA'] as const) assert.deepEqual(read(name, ofForm, form), pushed('main'))
})

test('a deleted branch, a ping, and what is not about branches are told apart', () => {
  const gone = { kind: 'CHANGES', changes: [{ kind: 'DELETED', branch: 'topic' }] }
  const deleted = { ...GITHUB_PUSH, ref: 'refs/heads/topic', after: ZERO, deleted: true, head_commit: null }
  assert.deepEqual(read('GITHUB', { 'x-github-event': 'push' }, deleted), gone)
  const deletion = { ref: 'topic', ref_type: 'branch', pusher_type: 'user' }
  assert.deepEqual(read('GITHUB', { 'x-github-event': 'delete' }, deletion), gone)
  assert.deepEqual(read('GITEA', { 'x-gitea-event': 'delete' }, deletion), gone)
  const ofGitLab = { ...GITLAB_PUSH, ref: 'refs/heads/topic', after: ZERO, checkout_sha: null }
  assert.deepEqual(read('GITLAB', { 'x-gitlab-event': 'Push Hook' }, ofGitLab), gone)

  assert.deepEqual(read('GITHUB', { 'x-github-event': 'ping' }, { zen: 'Design for failure.' }), { kind: 'PING' })
  assert.deepEqual(read('BITBUCKET', { 'x-event-key': 'diagnostics:ping' }, { test: true }), { kind: 'PING' })

  const tag = { ...GITHUB_PUSH, ref: 'refs/tags/simple-tag' }
  const ignored = [
    read('GITHUB', { 'x-github-event': 'push' }, tag),
    read('GITHUB', { 'x-github-event': 'delete' }, { ref: 'simple-tag', ref_type: 'tag' }),
    read('GITHUB', { 'x-github-event': 'star' }, {}),
    read('GITHUB', {}, {}),
    read('GITEA', { 'x-gitea-event': 'push' }, tag),
    read('GITLAB', { 'x-gitlab-event': 'Tag Push Hook' }, { ...GITLAB_PUSH, object_kind: 'tag_push' }),
    read('GITLAB', { 'x-gitlab-event': 'System Hook' }, { event_name: 'project_create' }),
    read('BITBUCKET', { 'x-event-key': 'repo:fork' }, {}),
    read('GITHUB', { 'x-github-event': 'push' }, { ...GITHUB_PUSH, ref: 'refs/heads/a..b' }),
    read('GITHUB', { 'x-github-event': 'push' }, { ...GITHUB_PUSH, ref: `refs/heads/${'b'.repeat(201)}` }),
  ]
  assert.deepEqual([...new Set(ignored.map(({ kind }) => kind))], ['IGNORED'])
})

test('a pull request of each service that is closed counts as its branch deleted, unless it is of a fork', () => {
  const gone = { kind: 'CHANGES', changes: [{ kind: 'DELETED', branch: 'topic' }] }
  const both = { base: { ref: 'main', repo: { id: 1 } } }
  const ofGitHub = (action: string, id: number | null) => ({
    action,
    pull_request: { ...both, head: { ref: 'topic', repo: id === null ? null : { id } } },
  })
  const ofGitLab = (action: string, source_project_id: number) => ({
    object_kind: 'merge_request',
    object_attributes: { action, source_branch: 'topic', source_project_id, target_project_id: 1 },
  })
  const ofCloud = (full_name: string) => ({
    pullrequest: {
      source: { branch: { name: 'topic' }, repository: { full_name } },
      destination: { branch: { name: 'main' }, repository: { full_name: 'team/site' } },
    },
  })
  const ofServer = (id: number) => ({
    pullRequest: {
      fromRef: { id: 'refs/heads/topic', displayId: 'topic', repository: { id } },
      toRef: { id: 'refs/heads/main', displayId: 'main', repository: { id: 1 } },
    },
  })
  const gitLab = { 'x-gitlab-event': 'Merge Request Hook' }
  for (const closed of [
    read('GITHUB', { 'x-github-event': 'pull_request' }, ofGitHub('closed', 1)),
    read('GITEA', { 'x-gitea-event': 'pull_request' }, ofGitHub('closed', 1)),
    ...['close', 'merge'].map((action) => read('GITLAB', gitLab, ofGitLab(action, 1))),
    ...['pullrequest:fulfilled', 'pullrequest:rejected'].map((event) =>
      read('BITBUCKET', { 'x-event-key': event }, ofCloud('team/site')),
    ),
    ...['pr:merged', 'pr:declined', 'pr:deleted'].map((event) =>
      read('BITBUCKET', { 'x-event-key': event }, ofServer(1)),
    ),
  ])
    assert.deepEqual(closed, gone)
  const ignored = [
    read('GITHUB', { 'x-github-event': 'pull_request' }, ofGitHub('closed', 2)),
    read('GITHUB', { 'x-github-event': 'pull_request' }, ofGitHub('closed', null)),
    read('GITHUB', { 'x-github-event': 'pull_request' }, ofGitHub('synchronize', 1)),
    read('GITEA', { 'x-gitea-event': 'pull_request' }, {}),
    read('GITLAB', gitLab, ofGitLab('close', 2)),
    read('GITLAB', gitLab, ofGitLab('update', 1)),
    read('BITBUCKET', { 'x-event-key': 'pullrequest:fulfilled' }, ofCloud('someone/site')),
    read('BITBUCKET', { 'x-event-key': 'pr:merged' }, ofServer(2)),
    read('BITBUCKET', { 'x-event-key': 'pr:opened' }, ofServer(1)),
  ]
  assert.deepEqual([...new Set(ignored.map(({ kind }) => kind))], ['IGNORED'])
})

test('a body that the service never sends ends in a problem, and never in another error', () => {
  const reasonOf = (act: () => unknown) => {
    try {
      return act()
    } catch (error) {
      assert.ok(error instanceof Problem)
      return error.reason
    }
  }
  const push = (payload: unknown) => () => read('GITHUB', { 'x-github-event': 'push' }, payload)
  assert.equal(reasonOf(push('{')), 'JSON_MALFORMED')
  assert.equal(reasonOf(push('[['.repeat(500_000))), 'JSON_MALFORMED')
  assert.equal(reasonOf(push({ ...GITHUB_PUSH, after: 'HEAD' })), 'FIELD_INVALID')
  assert.equal(reasonOf(push(' '.repeat(LIMITS.hookBytes + 1))), 'BODY_TOO_LARGE')
  const changes = Array.from({ length: LIMITS.hookBranches + 1 }, (_, index) => ({ new: branchOf(`b${index}`, NEW) }))
  assert.equal(
    reasonOf(() => read('BITBUCKET', { 'x-event-key': 'repo:push' }, { push: { changes } })),
    'FIELD_INVALID',
  )
  assert.equal(
    reasonOf(() => read('BITBUCKET', { 'x-event-key': 'repo:push' }, { push: {} })),
    'FIELD_INVALID',
  )
})

test('each service proves the secret in its own header, and no other secret, body or header does', () => {
  const body = JSON.stringify(GITHUB_PUSH)
  const form = new URLSearchParams({ payload: body }).toString()
  const isForm = { 'content-type': 'application/x-www-form-urlencoded' }
  const standard = (key: string | Buffer) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1674087231',
    'webhook-signature': `v1,AAAA v1,${hmac(`msg_1.1674087231.${body}`, key).digest('base64')}`,
  })
  const proofs: [ProviderName, IncomingHttpHeaders, string][] = [
    ['GITHUB', { 'x-hub-signature-256': `sha256=${hex(body)}` }, body],
    ['GITHUB', { ...isForm, 'x-hub-signature-256': `sha256=${hex(form)}` }, form],
    ['GITEA', { 'x-gitea-signature': hex(body) }, body],
    ['GITEA', { 'x-forgejo-signature': hex(body) }, body],
    ['GITEA', { 'x-hub-signature-256': `sha256=${hex(body)}` }, body],
    // Gitea signs the JSON within a form.
    ['GITEA', { ...isForm, 'x-gitea-signature': hex(body) }, form],
    ['GITLAB', { 'x-gitlab-token': SECRET.reveal() }, body],
    ['GITLAB', standard(SECRET.reveal()), body],
    ['BITBUCKET', { 'x-hub-signature': `sha256=${hex(body)}` }, body],
  ]
  for (const [name, headers, sent] of proofs) {
    const label = `${name} ${JSON.stringify(headers)}`
    assert.equal(proves(name, headers, sent), true, label)
    assert.equal(proves(name, headers, sent, new Secret('another')), false, label)
    assert.equal(proves(name, headers, sent, new Secret('')), false, label)
    if (!('x-gitlab-token' in headers)) assert.equal(proves(name, headers, `${sent} `), false, label)
    assert.equal(proves(name, {}, sent), false, label)
  }
  // The form that GitLab demands: the key in Base64 after the prefix.
  const made = newHookSecret()
  assert.match(made.reveal(), /^whsec_[A-Za-z0-9+/]{43}=$/)
  const key = Buffer.from(made.reveal().slice('whsec_'.length), 'base64')
  assert.equal(proves('GITLAB', standard(key), body, made), true)
  assert.equal(proves('GITLAB', standard(made.reveal()), body, made), false)
  assert.equal(proves('GITLAB', { 'x-gitlab-token': made.reveal() }, body, made), true)
  const sha1 = createHmac('sha1', SECRET.reveal()).update(body).digest('hex')
  assert.equal(proves('GITHUB', { 'x-hub-signature': `sha1=${sha1}` }, body), false)
  assert.equal(proves('BITBUCKET', { 'x-hub-signature': `sha1=${sha1}` }, body), false)
  const empty = createHmac('sha256', '').update(body).digest('hex')
  assert.equal(proves('GITEA', { 'x-gitea-signature': empty }, body, new Secret('')), false)
})

const HOSTS: [string, ProviderName | undefined, string | undefined][] = [
  ['https://github.com/o/r.git', 'GITHUB', 'https://api.github.com'],
  ['git@github.com:o/r.git', 'GITHUB', 'https://api.github.com'],
  ['ssh://git@ssh.github.com:443/o/r.git', 'GITHUB', 'https://api.github.com'],
  ['https://acme.ghe.com/o/r', 'GITHUB', 'https://api.acme.ghe.com'],
  ['https://github.example.com/o/r/', 'GITHUB', 'https://github.example.com/api/v3'],
  ['https://gitlab.com/group/sub/r.git', 'GITLAB', 'https://gitlab.com/api/v4'],
  ['ssh://git@gitlab.example.com:2222/g/r.git', 'GITLAB', 'https://gitlab.example.com/api/v4'],
  ['https://codeberg.org/o/r.git', 'GITEA', 'https://codeberg.org/api/v1'],
  ['https://example.com:8443/git/o/r.git', undefined, undefined],
  ['https://bitbucket.org/team/site.git', 'BITBUCKET', 'https://api.bitbucket.org/2.0'],
  ['https://code.example.com/ctx/scm/PRJ/site.git', 'BITBUCKET', 'https://code.example.com/ctx/rest/api/latest'],
  ['https://notgithub.example/o/r', undefined, undefined],
  ['file:///etc/passwd', undefined, undefined],
  ['https://github.com/', undefined, undefined],
  ['https://github.com/o/%2e%2e%2fr', undefined, undefined],
]

test('the service and its API are told by the URL of the repository', () => {
  for (const [url, provider, base] of HOSTS) {
    assert.equal(providerOf(url), provider, url)
    if (provider) assert.equal(apiBaseOf(url, provider), base, url)
  }
  assert.equal(apiBaseOf('https://example.com:8443/git/o/r.git', 'GITEA'), 'https://example.com:8443/git/api/v1')
  assert.equal(apiBaseOf('https://example.com/gitlab/group/r.git', 'GITLAB'), 'https://example.com/gitlab/api/v4')
  assert.equal(apiBaseOf('https://example.com/group/sub/r.git', 'GITLAB'), 'https://example.com/api/v4')
  const live = { state: 'SUCCESS', description: 'Live', targetUrl: 'https://site.example/', context: 'c' } as const
  const call = providerNamed('GITLAB').status('https://example.com/gitlab/group/r.git', NEW, live, SECRET)
  assert.equal(call?.url, `https://example.com/gitlab/api/v4/projects/group%2Fr/statuses/${NEW}`)
})

test('a status is sent as each service documents it, and cut to what it takes', async (t) => {
  const server = await startStatusServer({ token: 't0ken', repository: 'acme/site' })
  t.after(() => server.close())
  const long = `The build failed: ${'é😀'.repeat(400)}\nsecond line`
  for (const name of PROVIDERS) {
    const repository = `${server.url}/${name === 'BITBUCKET' ? 'scm/' : ''}acme/site.git`
    for (const state of ['PENDING', 'FAILURE', 'PENDING', 'PENDING', 'SUCCESS'] as const) {
      const status = { state, description: long, targetUrl: 'https://site.example/', context: 'headland/Production' }
      const call = providerNamed(name).status(repository, NEW, { ...status, branch: 'main' }, new Secret('t0ken'))
      assert.ok(call)
      const answer = await fetch(call.url, call)
      assert.equal(providerNamed(name).accepted(answer.status, await answer.text()), true, server.refused.join('\n'))
    }
  }
  const states = (name: ProviderName) =>
    server.received.filter(({ provider }) => provider === name).map(({ state }) => state)
  assert.deepEqual(states('GITHUB'), ['pending', 'failure', 'pending', 'pending', 'success'])
  assert.deepEqual(states('GITEA'), ['pending', 'failure', 'pending', 'pending', 'success'])
  assert.deepEqual(states('GITLAB'), ['pending', 'failed', 'pending', 'success'])
  assert.deepEqual(states('BITBUCKET'), ['INPROGRESS', 'FAILED', 'INPROGRESS', 'INPROGRESS', 'SUCCESSFUL'])
  // The second "pending" in a row is what GitLab refuses, and what counts as done.
  assert.equal(server.refused.length, 1)
})

test('a status is not sent with a wrong token, for a repository that the URL does not name, or with a path in the commit', async (t) => {
  const server = await startStatusServer({ token: 't0ken', repository: 'group/sub/site' })
  t.after(() => server.close())
  const status = { state: 'SUCCESS', description: 'Live', targetUrl: 'https://site.example/', context: 'c' } as const
  const { status: callOf, accepted } = providerNamed('GITLAB')
  const url = `${server.url}/group/sub/site.git`
  const send = async (token: string) => {
    const call = callOf(url, NEW, status, new Secret(token))
    assert.ok(call)
    const answer = await fetch(call.url, call)
    return accepted(answer.status, await answer.text())
  }
  assert.deepEqual([await send('t0ken'), await send('other')], [true, false])
  for (const name of PROVIDERS) {
    assert.equal(providerNamed(name).status(`${server.url}/site.git`, NEW, status, new Secret('t')), undefined)
    assert.equal(providerNamed(name).status(url, '../../user', status, new Secret('t')), undefined)
  }
})
