import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { LIMITS, Problem } from '../contract/index.ts'
import { statement } from '../storage/index.ts'
import { createDomains } from './domains.ts'

async function modules(t: Scope) {
  const lower = await openCoreModules(t)
  const { sql, newId, accounts, apps, environments } = lower
  const domains = createDomains({ ...lower, domain: 'sites.example.com', ownHosts: ['portal.example.org'] })

  async function environment(accountName: string): Promise<string> {
    const account = await accounts.create(accountName)
    const app = await apps.create(account.id, 'app', 'regions/UK')
    const id = newId()
    const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables: [] }
    await sql.transaction((tx) => environments.insert(tx, { id: app.id, accountId: account.id }, id, draft))
    return id
  }

  return {
    ...lower,
    domains,
    first: await environment('first'),
    second: await environment('second'),
    replace: (id: string, given: string[]) => sql.transaction((tx) => domains.replace(tx, id, domains.check(given))),
    async of(id: string) {
      return (await domains.of([id])).get(id) ?? []
    },
  }
}

const answers = (name: string) => ({ name, redirectTo: null })

test('a list is replaced as a whole', async (t) => {
  const { replace, of, first, second, domains } = await modules(t)
  await replace(first, ['www.example.com', 'EXAMPLE.com', 'münchen.de'])
  assert.deepEqual(await of(first), ['example.com', 'www.example.com', 'xn--mnchen-3ya.de'])
  await replace(first, ['www.example.com', 'shop.example.com'])
  await replace(second, ['example.com'])
  assert.deepEqual(await of(first), ['shop.example.com', 'www.example.com'])
  assert.deepEqual(
    await domains.routed(),
    new Map([
      [second, [answers('example.com')]],
      [first, [answers('shop.example.com'), answers('www.example.com')]],
    ]),
  )
  await replace(first, [])
  assert.deepEqual(await of(first), [])
  assert.deepEqual(await domains.of([]), new Map())
})

test('a name that another environment has is refused without a word about whose it is, and nothing changes', async (t) => {
  const { replace, of, first, second } = await modules(t)
  await replace(first, ['www.example.com', 'example.com'])
  await replace(second, ['mine.example.net'])
  const refused = await replace(second, ['new.example.net', 'WWW.example.com', 'example.com']).catch((error) => error)
  assert.ok(refused instanceof Problem)
  assert.equal(refused.reason, 'DOMAIN_TAKEN')
  assert.deepEqual(refused.metadata, { domains: 'example.com,www.example.com' })
  assert.equal(refused.message, 'Another environment has: example.com, www.example.com.')
  assert.deepEqual(await of(second), ['mine.example.net'])
  assert.deepEqual(await of(first), ['example.com', 'www.example.com'])
})

test('of two who ask for a name at once, one gets it', async (t) => {
  const { replace, of, first, second } = await modules(t)
  const ends = await Promise.allSettled([replace(first, ['www.example.com']), replace(second, ['www.example.com'])])
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert.equal([...(await of(first)), ...(await of(second))].length, 1)
})

test('a constraint of the database lets no name have two owners', async (t) => {
  const { sql, replace, first, second } = await modules(t)
  await replace(first, ['www.example.com'])
  await assert.rejects(
    sql.transaction((tx) =>
      tx.query(statement`INSERT INTO domains (name, environment_id) VALUES ('www.example.com', ${second})`),
    ),
    /UNIQUE|duplicate key/,
  )
})

test('the names of an environment are free once its deletion is asked for, and gone with it', async (t) => {
  const { sql, environments, domains, replace, of, first, second } = await modules(t)
  await replace(first, ['www.example.com', 'example.com'])
  await sql.transaction((tx) => environments.markDeleting(tx, first))
  assert.deepEqual(await of(first), [])
  assert.equal(await domains.isKnown('www.example.com'), false)
  await replace(second, ['www.example.com'])
  assert.deepEqual(await of(second), ['www.example.com'])
  await sql.transaction((tx) => environments.remove(tx, first))
  assert.deepEqual(await domains.routed(), new Map([[second, [answers('www.example.com')]]]))
})

test('a change of its names is a change of the environment', async (t) => {
  const { sql, clock, environments, replace, first } = await modules(t)
  await clock.advance(5000)
  await replace(first, ['www.example.com'])
  assert.equal((await environments.byId(sql, first))?.updateTime, clock.now())
})

test('names of the service, names under them, and those of the visitor’s own machine are refused', async (t) => {
  const { domains } = await modules(t)
  const own = [
    'sites.example.com',
    'a.sites.example.com',
    'portal.example.org',
    'a.b.portal.example.org',
    'a.localhost',
  ]
  for (const name of own) {
    assert.throws(() => domains.check([name.toUpperCase()]), {
      reason: 'FIELD_INVALID',
      fields: [{ field: 'domains[0]', description: 'must not be a name of the service itself, nor one under it' }],
    })
  }
  const others = ['example.com', 'mysites.example.com', 'other.example.org', 'localhost.example.org']
  assert.deepEqual(domains.check(others), others.toSorted())
})

test('every name that cannot be taken is reported, also one that is given twice in different spellings', async (t) => {
  const { domains } = await modules(t)
  assert.throws(() => domains.check(['www.example.com', '*.example.com', 'WWW.example.com.', '10.0.0.1']), {
    reason: 'FIELD_INVALID',
    fields: [
      { field: 'domains[1]', description: 'must be one name: there are no wildcards' },
      { field: 'domains[2]', description: 'www.example.com is given twice' },
      { field: 'domains[3]', description: 'must be a name, not an IP address: it must not end in a number' },
    ],
  })
})

test('an environment may have so many names, and not one more', async (t) => {
  const { domains, replace, of, first } = await modules(t)
  const names = Array.from({ length: LIMITS.domains }, (_, index) => `site-${index}.example.com`)
  await replace(first, names)
  assert.equal((await of(first)).length, LIMITS.domains)
  assert.throws(() => domains.check([...names, 'www.example.com']), {
    reason: 'BODY_TOO_LARGE',
    metadata: { limit: '50' },
  })
})

test('a host is known when it is a custom name or the label of an environment, and not otherwise', async (t) => {
  const { sql, environments, domains, replace, first, second } = await modules(t)
  await replace(first, ['www.example.com'])
  await sql.transaction(async (tx) => {
    const environment = await environments.byId(tx, second)
    assert.ok(environment)
    await environments.assignHostLabel(tx, environment)
  })
  const label = (await environments.byId(sql, second))?.hostLabel
  for (const host of ['www.example.com', 'WWW.EXAMPLE.COM.', `${label}.sites.example.com`]) {
    assert.equal(await domains.isKnown(host), true, host)
  }
  const unknown = ['example.com', 'a.www.example.com', 'sites.example.com', `a.${label}.sites.example.com`]
  for (const host of [...unknown, `${label}.example.com`, `${label}`, '', 'a b', '127.0.0.1', `${first}`]) {
    assert.equal(await domains.isKnown(host), false, host)
  }
})

test('a redirect leads to another name of the list that does not redirect, so there are no loops and no chains', async (t) => {
  const { domains } = await modules(t)
  const names = ['a.example.com', 'b.example.com', 'c.example.com']
  const check = (...redirects: [string, string][]) =>
    domains.checkRedirects(
      names,
      redirects.map(([domain, to]) => ({ domain, to })),
    )
  assert.deepEqual(check(['c.example.com', 'A.example.com'], ['b.example.com.', 'a.example.com']), [
    { domain: 'b.example.com', to: 'a.example.com' },
    { domain: 'c.example.com', to: 'a.example.com' },
  ])
  const refused: [[string, string][], string][] = [
    [[['a.example.com', 'a.example.com']], 'redirects[0].to'],
    [[['a.example.com', 'evil.example.net']], 'redirects[0].to'],
    [[['evil.example.net', 'a.example.com']], 'redirects[0].domain'],
    [[['a.example.com', '//evil.example.net/@']], 'redirects[0].to'],
    [
      [
        ['a.example.com', 'b.example.com'],
        ['a.example.com', 'c.example.com'],
      ],
      'redirects[1].domain',
    ],
    [
      [
        ['a.example.com', 'b.example.com'],
        ['b.example.com', 'c.example.com'],
      ],
      'redirects[0].to',
    ],
    [
      [
        ['a.example.com', 'b.example.com'],
        ['b.example.com', 'a.example.com'],
      ],
      'redirects[0].to',
    ],
  ]
  for (const [given, field] of refused) {
    assert.throws(
      () => check(...given),
      ({ reason, fields }: Problem) => reason === 'FIELD_INVALID' && fields?.[0]?.field === field,
      field,
    )
  }
  assert.throws(() => check(...Array<[string, string]>(LIMITS.domains + 1).fill(['a.example.com', 'b.example.com'])), {
    reason: 'BODY_TOO_LARGE',
  })
})
