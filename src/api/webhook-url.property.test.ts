/**
 * Webhook URLs as unknown clients write them: a valid URL is read, nothing throws, and no token is left in what is
 * logged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, nearly } from '../../test/support/fuzz.ts'
import { readWebhookUrl, withoutSecrets } from './webhook-url.ts'

const made = fc.record({
  account: fc.stringMatching(/^[a-z][a-z0-9-]{1,8}[a-z0-9]$/),
  app: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,8}$/),
  environment: fc.uuid({ version: 7 }),
  action: fc.constantFrom('rebuild', 'cleanRebuild', 'purgeCache'),
  token: fc.stringMatching(/^[A-Za-z0-9_-]{43}$/),
})
const urlOf = ({
  account,
  app,
  environment,
  action,
  token,
}: { [K in 'account' | 'app' | 'environment' | 'action' | 'token']: string }) =>
  `/wh/v1/accounts/${account}/apps/${app}/environments/${environment}/webhooks/webhook:${action}?token=${token}`

test('a URL that was made is read as what it was made of, however it is escaped', async () => {
  await holds(
    fc.property(
      made,
      fc.array(fc.nat(), { maxLength: 5 }),
      fc.constantFrom('', 'http://a.example', 'https://b:8443'),
      (parts, escaped, origin) => {
        const [path = '', query] = urlOf(parts).split('?')
        const letters = [...path]
        for (const at of escaped) {
          const letter = letters[at % letters.length] ?? ''
          if (letter.length === 1 && letter !== '/')
            letters[at % letters.length] = `%${letter.charCodeAt(0).toString(16)}`
        }
        const { account, app, environment, action, token } = parts
        assert.deepEqual(readWebhookUrl(`${origin}${letters.join('')}?${query}`), {
          at: { account, app, environment },
          action,
          token,
        })
      },
    ),
    300,
  )
})

test('no URL throws, and none has a token that is not in it', async () => {
  const odd = fc.oneof(
    fc.string({ maxLength: 60 }),
    nearly('/whv1accountsappsenvironmentswebhooks:?&=token%23', 60),
    fc
      .tuple(made.map(urlOf), fc.nat(200), fc.constantFrom('%', '?', '#', ':', '/', '&token=', '\u00e9', '%2f'))
      .map(([url, at, text]) => url.slice(0, at) + text + url.slice(at)),
  )
  await holds(
    fc.property(odd, (url) => {
      const read = readWebhookUrl(url)
      if (read) assert.ok(url.includes(`token=${read.token}`) || read.token === '')
      assert.ok(withoutSecrets(url).length <= url.length)
    }),
    1000,
  )
})

test('nothing of a token is in what is logged, wherever in the query it stands', async () => {
  await holds(
    fc.property(made, fc.constantFrom('?', '%3f', '%3F', '%253f', '&', ';', '%00', '#', '/', ' '), (parts, between) => {
      const url = urlOf(parts).replace('?', between)
      assert.ok(!withoutSecrets(url).includes(parts.token), withoutSecrets(url))
    }),
    200,
  )
})
