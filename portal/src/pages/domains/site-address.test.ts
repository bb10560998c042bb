import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostIn, isLocalName, siteAt } from './site-address.ts'

test('another name of a site has the same scheme and port', () => {
  assert.equal(siteAt('http://e1.localhost:8081', 'www.example.com'), 'http://www.example.com:8081')
  assert.equal(siteAt('https://e1.sites.example.com', 'xn--mnchen-3ya.example'), 'https://xn--mnchen-3ya.example')
  assert.equal(siteAt('', 'www.example.com'), 'http://www.example.com', 'the address is not known yet')
})

test('a name of this machine only is known as such', () => {
  assert.ok(isLocalName('e1.localhost'))
  assert.ok(!isLocalName('localhost.example.com'))
})

test('an address that was pasted is its host', () => {
  assert.equal(hostIn(' https://www.example.com/ '), 'www.example.com')
  assert.equal(hostIn('HTTP://München.example'), 'München.example')
  assert.equal(hostIn('https://www.example.com/path'), 'www.example.com/path', 'the service says what is wrong with it')
})
