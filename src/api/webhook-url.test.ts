import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readWebhookUrl, withoutSecrets } from './webhook-url.ts'

const PATH = '/wh/v1/accounts/ours/apps/blog/environments/0199e7c0-0000-7000-8000-000000000000/webhooks/webhook:rebuild'
const TOKEN = 'IM6ThhAc_7XCVWVJEW0XyBtBNbohATEQ9BevE1y538-'
const READ = {
  at: { account: 'ours', app: 'blog', environment: '0199e7c0-0000-7000-8000-000000000000' },
  action: 'rebuild',
  token: TOKEN,
}

for (const url of [
  `${PATH}?token=${TOKEN}`,
  `${PATH}/?token=${TOKEN}`,
  `${PATH.replace(':', '%3A')}?token=${TOKEN}`,
  `${PATH.replace(':', '%3a')}?token=${TOKEN}`,
  `${PATH}?a=b&token=${TOKEN}`,
  `${PATH}?token=${TOKEN}&a=b`,
  `${PATH}?token=${TOKEN}&token=another`,
  `${PATH}?token=${TOKEN}?v=s_1794743997868`,
  `${PATH}?a?token=${TOKEN}`,
  `${PATH}?token=${TOKEN}#top`,
  `${PATH}?mytoken=another&token=${TOKEN}`,
  `http://127.0.0.1:8080${PATH}?token=${TOKEN}`,
  `https://headland.example${PATH}?token=${TOKEN}`,
]) {
  test(`is read: ${url.replace(PATH, '…').replace(TOKEN, '…')}`, () => assert.deepEqual(readWebhookUrl(url), READ))
}

test('a token ends at the first other character, and is empty if it is missing', () => {
  const tokenOf = (query: string) => readWebhookUrl(`${PATH}${query}`)?.token
  assert.deepEqual(
    [
      '',
      '?',
      '?token',
      '?token=',
      '?Token=x',
      '?token[]=x',
      '?token=%41',
      '?token=a%00b',
      '?token=a+b',
      '?atoken=x',
    ].map(tokenOf),
    ['', '', '', '', '', '', '', 'a', 'a', ''],
  )
})

test('any other address is not read as a webhook', () => {
  for (const url of [
    '/wh',
    '/wh/',
    `/${PATH}`,
    `/prefix${PATH}`,
    `${PATH}//`,
    `${PATH}/more`,
    PATH.replace('/wh/', '/WH/'),
    PATH.replace('/v1/', '/v1//'),
    PATH.replace('/v1/', '/v2/'),
    PATH.replace('webhook:rebuild', 'webhook:'),
    PATH.replace('webhook:rebuild', 'webhook'),
    PATH.replace('/blog/', '/blog%2Fmore/'),
    PATH.replace('/blog/', '//'),
    `x${PATH}`,
    '',
  ]) {
    assert.equal(readWebhookUrl(`${url}?token=${TOKEN}`), undefined, url)
  }
})

test('an invalid escape does not throw', () => {
  assert.equal(readWebhookUrl(`${PATH.replace('blog', '%zz')}?token=x`)?.at.app, '%zz')
  assert.equal(readWebhookUrl(`${PATH.replace(':', '%')}?token=x`), undefined)
})

test('a long address is read in linear time', () => {
  // Takes minutes if an expression backtracks, and then fails by the test's time limit.
  const long = 'a'.repeat(16_000)
  for (const url of [
    `${PATH}?${'&token'.repeat(3000)}`,
    `/wh/v1/accounts/${long}`,
    `${'/webhook:'.repeat(2000)}`,
    `${'%25'.repeat(5000)}`,
  ]) {
    readWebhookUrl(url)
    withoutSecrets(url)
  }
})

test('nothing of a token is left in a path for the log, wherever a caller put it', () => {
  const rest = [
    `?token=${TOKEN}`,
    `%3Ftoken=${TOKEN}`,
    `%3ftoken%3d${TOKEN}`,
    `%253Ftoken%253D${TOKEN}`,
    `&token=${TOKEN}`,
  ]
  for (const more of [...rest, `;token=${TOKEN}`, `/${TOKEN}`, `%20${TOKEN}`, `\n${TOKEN}`, `#${TOKEN}`]) {
    assert.equal(withoutSecrets(`${PATH}${more}`), PATH, more)
    assert.equal(withoutSecrets(`//prefix${PATH}${more}`), `//prefix${PATH}`, more)
  }
  const escaped = PATH.replace(':', '%253A')
  assert.equal(withoutSecrets(`${escaped}%253Ftoken=${TOKEN}`), escaped)
})

test('other paths are logged as they are', () => {
  for (const path of [
    '/',
    '/v1/accounts/ours/apps/webhook',
    '/v1/a/environments/b/webhooks:regenerate',
    '/v1/a/webhooks',
  ]) {
    assert.equal(withoutSecrets(path), path)
    assert.equal(withoutSecrets(`${path}?token=x`), path)
  }
})
