import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientEnvironment } from '../../config.ts'
import { UsageError } from '../../contract/index.ts'
import { proxyFor } from './proxy.ts'

const PROXY = 'http://proxy.example.com:3128'
const shownFor = (url: string, env: Record<string, string>) => proxyFor(url, clientEnvironment(env).proxies)?.shown

test('each kind of address has a proxy of its own, and the small letters are stronger', () => {
  const env = { HTTPS_PROXY: 'http://one:1', HTTP_PROXY: 'http://two:2', http_proxy: 'http://three:3' }
  assert.equal(shownFor('https://headland.example.com', env), 'http://one:1')
  assert.equal(shownFor('http://headland.example.com', env), 'http://three:3')
  assert.equal(shownFor('http://headland.example.com', { HTTPS_PROXY: PROXY }), undefined)
  assert.equal(shownFor('https://headland.example.com', { HTTPS_PROXY: '' }), undefined)
})

test('an address without a scheme is one of an HTTP proxy, and its password is not shown', () => {
  const proxies = { https: { variable: 'HTTPS_PROXY', value: 'user:pass@proxy.example.com:3128' } }
  const proxy = proxyFor('https://headland.example.com', proxies)
  assert.equal(proxy?.shown, PROXY)
  assert.deepEqual([proxy?.url.username, proxy?.url.password], ['user', 'pass'])
})

test('what is not the address of an HTTP proxy is refused by the name of the variable, without its value', () => {
  for (const value of ['socks5://user:hunter2@proxy:1080', 'http://', 'http://user:hunter2@a b', '://hunter2']) {
    assert.throws(
      () => shownFor('https://headland.example.com', { https_proxy: value }),
      (error) => error instanceof UsageError && /^https_proxy /.test(error.message) && !/hunter2/.test(error.message),
      value,
    )
  }
})

test('this machine is never reached through a proxy', () => {
  const env = { http_proxy: PROXY, https_proxy: PROXY }
  for (const host of ['localhost', 'LOCALHOST.', 'shop.localhost:8081', '127.0.0.1:8080', '127.1.2.3', '[::1]:8080']) {
    assert.equal(shownFor(`http://${host}`, env), undefined, host)
    assert.equal(shownFor(`https://${host}`, env), undefined, host)
  }
  for (const host of ['localhost.example.com', 'notlocalhost', '128.0.0.1']) {
    assert.equal(shownFor(`http://${host}`, env), PROXY, host)
  }
})

const EXCEPTIONS: [list: string, address: string, isReachedWithout: boolean][] = [
  ['*', 'https://headland.example.com', true],
  ['example.com', 'https://example.com', true],
  ['example.com', 'https://headland.example.com', true],
  ['.example.com', 'https://headland.example.com', true],
  ['*.example.com', 'https://headland.example.com', true],
  ['EXAMPLE.com.', 'https://headland.example.com', true],
  ['example.com', 'https://headland.example.com.', true],
  ['example.com', 'https://badexample.com', false],
  ['headland.example.com', 'https://example.com', false],
  ['other.org, example.com', 'https://example.com', true],
  ['other.org example.com', 'https://example.com', true],
  ['example.com:8443', 'https://example.com:8443', true],
  ['example.com:8443', 'https://example.com', false],
  ['example.com:443', 'https://example.com', true],
  ['example.com:80', 'http://example.com', true],
  ['10.1.2.3', 'https://10.1.2.3', true],
  ['10.0.0.0/8', 'https://10.1.2.3', true],
  ['10.0.0.0/8:443', 'https://10.1.2.3', true],
  ['10.0.0.0/16', 'https://10.1.2.3', false],
  ['10.0.0.0/33', 'https://10.1.2.3', false],
  ['10.0.0.0/x', 'https://10.1.2.3', false],
  ['fd00::/8', 'https://[fd12::1]', true],
  ['[fd12::1]', 'https://[fd12::1]:8443', true],
  ['[fd12::1]:8443', 'https://[fd12::1]:8443', true],
  ['[fd12::1]:8443', 'https://[fd12::1]', false],
  ['fd00::/8', 'https://10.1.2.3', false],
  ['1.2.3', 'https://10.1.2.3', false],
  ['', 'https://example.com', false],
  [' ,, . *. ', 'https://example.com', false],
]

for (const [list, address, isReachedWithout] of EXCEPTIONS) {
  test(`NO_PROXY '${list}' ${isReachedWithout ? 'names' : 'does not name'} ${address}`, () => {
    assert.equal(
      shownFor(address, { https_proxy: PROXY, http_proxy: PROXY, NO_PROXY: list }) === undefined,
      isReachedWithout,
    )
  })
}
